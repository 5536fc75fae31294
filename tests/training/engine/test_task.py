from __future__ import annotations

from helpers.bag_task import BagTask, settings

from cocite.training.engine.task import ContrastiveTask, EpochTask, GroupedTask, OrderedTask, PreparedTask


def test_what_a_task_offers_besides_is_seen_by_its_methods() -> None:
    class Ordered(BagTask):
        is_ordered = True

    class Prepared(BagTask):
        def prepare(self, world: object, stage: object) -> None:
            """Nothing."""

        def load_prepared(self, prepared: object) -> None:
            """Nothing."""

    class Shared(BagTask):
        def begin_epoch(self, epoch: int, world: object) -> None:
            """Nothing."""

    plain, ordered, prepared, shared = (kind(settings()) for kind in (BagTask, Ordered, Prepared, Shared))
    assert isinstance(plain, GroupedTask)
    assert not isinstance(plain, ContrastiveTask | EpochTask | OrderedTask | PreparedTask)
    assert isinstance(shared, EpochTask)
    assert isinstance(ordered, OrderedTask)
    assert isinstance(prepared, PreparedTask)

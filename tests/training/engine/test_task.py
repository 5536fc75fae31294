from __future__ import annotations

from helpers.bag_task import BagTask, settings

from cocite.training.engine.task import ContrastiveTask, GroupedTask, OrderedTask, PreparedTask


def test_what_a_task_offers_besides_is_seen_by_its_methods() -> None:
    class Ordered(BagTask):
        is_ordered = True

    class Prepared(BagTask):
        def prepare(self, world: object, stage: object) -> None:
            """Nothing."""

        def load_prepared(self, prepared: object) -> None:
            """Nothing."""

    plain, ordered, prepared = (kind(settings()) for kind in (BagTask, Ordered, Prepared))
    assert isinstance(plain, GroupedTask)
    assert not isinstance(plain, ContrastiveTask | OrderedTask | PreparedTask)
    assert isinstance(ordered, OrderedTask)
    assert isinstance(prepared, PreparedTask)

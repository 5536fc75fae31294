"""A notice of Ray that a machine is taken away is one wish for a checkpoint; the driver's end is the wish to stop."""

from __future__ import annotations

import time
from dataclasses import fields

import pytest
from ray.train.v2._internal.execution import context
from ray.train.v2._internal.execution.preemption import PreemptionContext
from ray.train.v2._internal.execution.worker_group.worker import RayTrainWorker
from ray.train.v2.api.preemption import PreemptionInfo

from cocite.training.engine.wishes import Wishes
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.training import ray_wishes
from cocite_jobs.training.ray_actors import EventBuffer
from cocite_jobs.training.ray_wishes import RayWishes, stop_with_driver


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> context.TrainContext:
    """The context that Ray gives a worker's process; what is None does not matter here."""
    named = {field.name: None for field in fields(context.TrainContext) if field.init}
    named |= {
        "preemption_context": PreemptionContext(),
        "distributed_context": context.DistributedContext(0, 1, 0, 1, 0),
    }
    made = context.TrainContext(**named)
    monkeypatch.setattr(context, "_train_context", made)
    return made


@pytest.mark.usefixtures("worker")
def test_a_notice_counts_once() -> None:
    """Ray's watcher calls ``mark_preempt`` of each worker: another version that keeps it elsewhere fails here."""
    wishes = RayWishes()
    assert not wishes.take_save()
    RayTrainWorker.mark_preempt(
        object(), PreemptionInfo(deadline_ms=None, preempted_node_to_ranks={"a": [0]})
    )
    assert (wishes.take_save(), wishes.take_save()) == (True, False)


def test_a_version_of_ray_that_notes_it_elsewhere_is_told(worker: context.TrainContext) -> None:
    del worker.preemption_context
    with pytest.warns(RuntimeWarning, match="does not say where it notes .*: .*preemption_context"):
        assert not RayWishes().take_save()


@pytest.mark.integration
def test_the_driver_s_end_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(ray_wishes, "POLL_S", 0.05)
    with ray_connection("local"):
        buffer, wishes = ray.remote(num_cpus=0)(EventBuffer).remote(), Wishes()
        with stop_with_driver(wishes, buffer):
            ray.get(buffer.stop.remote())
            until = time.monotonic() + 30
            while not wishes.stopping and time.monotonic() < until:
                time.sleep(0.05)
        assert wishes.stopping

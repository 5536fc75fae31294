"""What a replica's worker tells of its chunks and its queue: the values that Ray is given."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from ray.util.metrics import Metric

from cocite_serve.replicas.batch_metrics import BatchMetrics
from cocite_serve.replicas.compute_thread import ComputeThread
from cocite_serve.replicas.pace import Pace
from cocite_serve.replicas.scheduler import Scheduler
from cocite_serve.replicas.steps import Work
from cocite_serve.replicas.worker import Worker


class Items:
    """A job is the costs of its items."""

    def open(self, job: list[int]) -> NDArray[np.int64]:
        return np.array(job, np.int64)

    def read(self, parts: Sequence[tuple[list[int], int]]) -> None: ...

    def close(self, job: list[int], items: int) -> int:
        return len(job[:items])


def test_chunks_and_the_queue_are_told_by_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, float, dict[str, str]]] = []
    monkeypatch.setattr(
        Metric, "_record", lambda self, value, tags: given.append((self.info["name"], value, tags))
    )
    metrics = BatchMetrics("reranker")
    scheduler = Scheduler(time.monotonic, budget=100, max_wait_s=60, pace=Pace(1, 0.001), item_cost=50)
    worker = Worker(ComputeThread(models=False), Items(), scheduler, metrics.observe)
    jobs = [[40, 60], [30], [30], [40]]

    async def run() -> None:
        end = time.monotonic() + 60
        await asyncio.gather(*(worker.run(job, Work(len(job), end)) for job in jobs))

    asyncio.run(run())
    metrics.observe_padding(1.25)
    assert {tags["stage"] for _, _, tags in given} == {"reranker"}
    values: dict[str, list[float]] = {}
    for name, value, _ in given:
        values.setdefault(name, []).append(value)
    assert sum(values["cocite_batch_cost"]) == 200
    assert max(values["cocite_batch_cost"]) <= 100
    assert values["cocite_batch_padding"] == [1.25]
    assert sum(values["cocite_batch_requests"]) >= len(jobs)
    assert 1 <= max(values["cocite_queued_requests"]) <= len(jobs)
    assert max(values["cocite_queued_seconds"]) > 0
    deadline = time.monotonic() + 10
    while values["cocite_queued_requests"][-1] or values["cocite_queued_seconds"][-1]:
        assert time.monotonic() < deadline, "a replica without work has an empty queue"
        time.sleep(0.01)
        values = {
            key: [value for name, value, _ in given if name == key]
            for key in ("cocite_queued_requests", "cocite_queued_seconds")
        }

"""What Ray Serve and the gateways ask of either stage."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest

from cocite_serve.replicas.autoscaling import QUEUED_S
from cocite_serve.replicas.compute_thread import ComputeThread
from cocite_serve.replicas.health import HealthCheck, UnhealthyError
from cocite_serve.replicas.loaded_versions import LoadedVersions
from cocite_serve.replicas.pace import Pace
from cocite_serve.replicas.queued_stage import QueuedStage
from cocite_serve.replicas.scheduler import Scheduler
from cocite_serve.replicas.steps import Work
from cocite_serve.replicas.worker import Worker


class Waits:
    """A stage each of whose items takes until the test lets it go on."""

    def __init__(self) -> None:
        self.go, self.begun = threading.Event(), threading.Event()

    def open(self, job: int) -> Any:
        return np.ones(job, np.int64)

    def read(self, parts: Any) -> None:
        self.begun.set()
        self.go.wait(60)

    def close(self, job: int, items: int) -> int:
        return items


def test_its_queue_is_counted_and_a_stuck_step_is_noticed() -> None:
    async def ask() -> tuple[float, float]:
        thread, waits = ComputeThread(models=False), Waits()
        scheduler = Scheduler(time.monotonic, budget=1, max_wait_s=60, pace=Pace(1, 0.5), item_cost=1)
        worker: Worker[int, int] = Worker(thread, waits, scheduler)
        health = HealthCheck(thread, worker, lambda: None, stuck_s=0.05)
        stage = QueuedStage(worker, health, LoadedVersions("5f0c", "000001"))
        assert await stage.versions() == stage.loaded
        await stage.check_health()
        at_rest = (await stage.record_autoscaling_stats())[QUEUED_S]
        running = asyncio.create_task(worker.run(4, Work(4, time.monotonic() + 60)))
        await asyncio.to_thread(waits.begun.wait, 60)
        await asyncio.sleep(0.1)  # longer than `stuck_s`
        with pytest.raises(UnhealthyError, match="a step has taken"):
            await stage.check_health()
        busy = (await stage.record_autoscaling_stats())[QUEUED_S]
        waits.go.set()
        assert await running == 4
        return at_rest, busy

    at_rest, busy = asyncio.run(ask())
    assert at_rest == 0
    assert busy >= 1

"""A stage whose computing thread is stuck, though its process answers: what it has taken in is asked of another one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
SECONDS = 120
"""On a machine that does other things too; usually 6 from the call on."""
STUCK = """
import asyncio, os, sys, time
from pathlib import Path
os.environ["RAY_SERVE_USE_GRPC_BY_DEFAULT"] = "1"  # as in a gateway
import numpy as np
import ray
from ray import serve
from cocite_serve.endpoint import NAMESPACE
from cocite_serve.http.deadline import Deadline
from cocite_serve.release import Release
from cocite_serve.replicas.applications import stages_application
from cocite_serve.replicas.compute_thread import ComputeThread
from cocite_serve.replicas.health import HealthCheck
from cocite_serve.replicas.loaded_versions import LoadedVersions
from cocite_serve.replicas.pace import Pace
from cocite_serve.replicas.queued_stage import QueuedStage
from cocite_serve.replicas.scheduler import Scheduler
from cocite_serve.replicas.stage_calls import result_of
from cocite_serve.replicas.steps import Work
from cocite_serve.replicas.worker import Worker
from cocite_serve.settings import ServeSettings

STUCK_S, SECONDS = 2.0, float(sys.argv[2])

class Hangs:
    def open(self, job): return np.ones(1, np.int64)
    def read(self, parts):
        for job, _ in parts:
            try:
                job.touch(exist_ok=False)
            except FileExistsError:
                continue
            time.sleep(3600)  # the first thread that reads it
    def close(self, job, items): return os.getpid()

class Hanging(QueuedStage):
    def __init__(self):
        thread = ComputeThread(models=False)
        scheduler = Scheduler(time.monotonic, budget=1, max_wait_s=SECONDS, pace=Pace(1, 0.01), item_cost=1)
        worker = Worker(thread, Hangs(), scheduler)
        super().__init__(worker, HealthCheck(thread, worker, list, STUCK_S), LoadedVersions("", "000001"))

    async def ask(self, path, seconds):
        return await self._worker.run(path, Work(1, time.monotonic() + seconds)), seconds

ray.init(address="local", namespace=NAMESPACE, num_cpus=2, include_dashboard=False, _temp_dir=sys.argv[1])
settings = ServeSettings(index="index", retriever={"replicas": 2}, request_timeout_s=SECONDS)
stage = stages_application(Release(None, Path("index"), "000001"), settings)._bound_deployment
handle = serve.run(stage.options(func_or_class=Hanging).bind(), name="stages", route_prefix=None)

async def ask():
    deadline, begin = Deadline.after(SECONDS, partial=False), time.monotonic()
    path = Path(sys.argv[1], "begun")
    _, seconds = await result_of("ask", lambda _: handle.ask.remote(path, deadline.left()))
    print(f"another one answers after {time.monotonic() - begin:.1f} s")
    # A replica that ends in order has so many seconds, and five more, until Ray Serve kills it.
    assert time.monotonic() - begin < SECONDS, "it was asked before Ray Serve killed the first one"
    assert seconds < SECONDS - STUCK_S, "the time that the first one took is gone"

asyncio.run(ask())
serve.shutdown()
ray.shutdown()
"""


def test_a_stage_whose_thread_is_stuck_loses_no_request(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="cocite-") as folder:  # short: Ray's sockets lie there
        done = subprocess.run(
            [sys.executable, "-c", STUCK, folder, str(SECONDS)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=3 * SECONDS,
        )
    assert done.returncode == 0, done.stderr[-3000:]

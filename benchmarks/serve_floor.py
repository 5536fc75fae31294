"""What Ray Serve itself takes for a request that does nothing: the least that an endpoint on it can take.

    .venv/bin/python -m benchmarks.serve_floor [--requests 300]

A gateway of FastAPI answers with a constant of twenty papers, by itself or after a call of a second deployment, over
loopback, one client; by gRPC between replicas, as cocite's endpoint, and by Ray's defaults. The CPU time is that of all
processes of Ray, less what they take at rest.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from typing import Any

import httpx
import numpy as np
import psutil

from benchmarks._endpoint import cpu_seconds_of, free_port
from cocite.cli.console import print_table

WARM_UP = 50
REST_S = 4.0
PAPERS = [
    {"id": str(number), "title": "x" * 80, "abstract": "y" * 1500, "score": 0.5} for number in range(20)
]
BODY = {"title": "a" * 100, "abstract": "b" * 1000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=300, help="requests per line of the table")
    count = parser.parse_args().requests
    rows = [
        (f"{name}, {calls} calls of another replica", *measure(calls, count, grpc))
        for name, grpc in (("gRPC", "1"), ("Ray's", "0"))
        for calls in (0, 1)
    ]
    print_table(f"{count} requests a line", ["transport", "p50 ms", "p95 ms", "CPU ms"], rows)


def application(calls: int) -> Any:
    """A gateway, and behind it another deployment if it calls one."""
    from fastapi import FastAPI
    from ray import serve

    app = FastAPI()

    @serve.deployment(max_ongoing_requests=100)
    class Stage:
        async def papers(self, body: dict[str, str]) -> list[dict[str, Any]]:
            return PAPERS

    @serve.deployment(max_ongoing_requests=100)
    @serve.ingress(app)
    class Gateway:
        def __init__(self, stage: Any = None) -> None:
            self.stage = stage

        @app.post("/papers")
        async def papers(self, body: dict[str, str]) -> list[dict[str, Any]]:
            if self.stage is None:
                return PAPERS
            found: list[dict[str, Any]] = await self.stage.papers.remote(body)
            return found

    return Gateway.bind(Stage.bind()) if calls else Gateway.bind()


def measure(calls: int, count: int, grpc: str) -> tuple[float, float, float]:
    """Milliseconds of a request: the median, the 95th percentile, and of CPU."""
    import ray
    from ray import serve
    from ray.serve.config import HTTPOptions

    os.environ["RAY_SERVE_USE_GRPC_BY_DEFAULT"] = grpc  # each process of Ray reads it when it starts
    folder, port = tempfile.mkdtemp(prefix="floor-"), free_port()
    ray.init(
        num_cpus=4, _temp_dir=folder, include_dashboard=False, logging_level="ERROR", log_to_driver=False
    )
    try:
        serve.start(http_options=HTTPOptions(host="127.0.0.1", port=port))
        serve.run(application(calls), logging_config={"enable_access_log": False})
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:

            def ask() -> float:
                begin = time.perf_counter()
                client.post("/papers", json=BODY).raise_for_status()
                return 1000 * (time.perf_counter() - begin)

            for _ in range(WARM_UP):
                ask()
            begin, cpu = time.perf_counter(), cpu_seconds()
            time.sleep(REST_S)
            at_rest = (cpu_seconds() - cpu) / (time.perf_counter() - begin)
            begin, cpu = time.perf_counter(), cpu_seconds()
            took = [ask() for _ in range(count)]
            own = cpu_seconds() - cpu - at_rest * (time.perf_counter() - begin)
    finally:
        serve.shutdown()
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    return float(np.median(took)), float(np.percentile(took, 95)), 1000 * own / count


def cpu_seconds() -> float:
    """CPU seconds of all processes that this one has started."""
    return cpu_seconds_of(psutil.Process().children(recursive=True))


if __name__ == "__main__":
    main()

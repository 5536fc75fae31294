"""What Ray Serve itself takes for a request that does nothing: the least that an endpoint on it can take.

    .venv/bin/python -m benchmarks.serve_floor [--requests 300] [--ways "gRPC,direct ingress"] [--json FILE]

A gateway of FastAPI answers with a constant of twenty papers, by itself or after a call of a second deployment, over
loopback, one client. Ways to it: Ray Serve's HTTP proxy with gRPC between replicas, as cocite's endpoint, and by Ray's
defaults; the gateway's own HTTP server (direct ingress), with gRPC behind it; and HAProxy before that. The CPU time is
that of all processes of Ray, less what they take at rest, which stands beside it. The last column says on which
addresses the proxy, the gateway or HAProxy listen.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from benchmarks._endpoint import cpu_seconds_of, free_port
from benchmarks._measured_process import provenance
from cocite.cli.console import print_table

WARM_UP = 50
REST_S = 4.0
START_S = 60.0
PAPERS = [
    {"id": str(number), "title": "x" * 80, "abstract": "y" * 1500, "score": 0.5} for number in range(20)
]
BODY = {"title": "a" * 100, "abstract": "b" * 1000}
GRPC = {"RAY_SERVE_USE_GRPC_BY_DEFAULT": "1"}
DIRECT = GRPC | {"RAY_SERVE_ENABLE_DIRECT_INGRESS": "1"}
WAYS = {
    "gRPC": GRPC,
    "Ray's": {"RAY_SERVE_USE_GRPC_BY_DEFAULT": "0"},
    "direct ingress": DIRECT,
    "HAProxy": DIRECT | {"RAY_SERVE_ENABLE_HA_PROXY": "1"},
}
"""Environment of each way; each process of Ray reads it when it starts."""
LISTENING = ("Proxy", "Gateway", "haproxy")
"""Words in the command lines of the processes that take requests."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=300, help="requests per line of the table")
    parser.add_argument("--ways", default=",".join(WAYS), help="which ways")
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    result = provenance("serve_floor")
    rows: list[dict[str, Any]] = []
    for way in options.ways.split(","):
        for calls in (0, 1):
            # A process of its own: Ray Serve reads the environment when it is imported.
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
                rows.append(pool.submit(measure, way, calls, options.requests).result())
            print(json.dumps(rows[-1]), flush=True)
            if options.json:  # after each line: a way may not come up
                options.json.write_text(json.dumps(result | {"lines": rows}, indent=1) + "\n")
    print_table(f"{options.requests} requests a line", list(rows[0]), [list(row.values()) for row in rows])


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


def measure(way: str, calls: int, count: int) -> dict[str, Any]:
    """A line of the table, with times in milliseconds."""
    # In /tmp: the paths of Ray's and of HAProxy's sockets may have some hundred characters.
    folder = tempfile.mkdtemp(prefix="floor-", dir="/tmp")
    port, own_port = free_port(), free_port()
    os.environ |= WAYS[way]
    # One port for the one gateway (Ray does not use the last), and HAProxy's files in a folder of ours.
    os.environ |= {
        "RAY_SERVE_DIRECT_INGRESS_MIN_HTTP_PORT": str(own_port),
        "RAY_SERVE_DIRECT_INGRESS_MAX_HTTP_PORT": str(own_port + 1),
        "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": f"{folder}/haproxy/haproxy.cfg",
        "RAY_SERVE_HAPROXY_SOCKET_PATH": f"{folder}/haproxy/admin.sock",
        "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": f"{folder}/haproxy",
        "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": f"{folder}/haproxy/server-state",
        "RAY_SERVE_HAPROXY_METRICS_PORT": str(free_port()),
        "RAY_SERVE_HAPROXY_STATS_PORT": str(free_port()),
    }
    import ray
    from ray import serve
    from ray.serve.config import HTTPOptions

    ray.init(
        num_cpus=4, _temp_dir=folder, include_dashboard=False, logging_level="ERROR", log_to_driver=False
    )
    try:
        serve.start(http_options=HTTPOptions(host="127.0.0.1", port=port))
        serve.run(application(calls), logging_config={"enable_access_log": False})
        asked = own_port if way == "direct ingress" else port
        with httpx.Client(base_url=f"http://127.0.0.1:{asked}", timeout=60) as client:

            def ask() -> float:
                begin = time.perf_counter()
                client.post("/papers", json=BODY).raise_for_status()
                return 1000 * (time.perf_counter() - begin)

            wait_until_answered(client)
            for _ in range(WARM_UP):
                ask()
            begin, cpu = time.perf_counter(), cpu_seconds()
            time.sleep(REST_S)
            at_rest = (cpu_seconds() - cpu) / (time.perf_counter() - begin)
            begin, cpu = time.perf_counter(), cpu_seconds()
            took = [ask() for _ in range(count)]
            own = cpu_seconds() - cpu - at_rest * (time.perf_counter() - begin)
        addresses = listening()
    finally:
        serve.shutdown()
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "way": way,
        "calls of another replica": calls,
        "p50 ms": round(float(np.median(took)), 1),
        "p95 ms": round(float(np.percentile(took, 95)), 1),
        "CPU ms": round(1000 * own / count, 1),
        "CPU ms a second at rest": round(1000 * at_rest, 1),
        "listens on": addresses,
    }


def wait_until_answered(client: httpx.Client) -> None:
    """Return once requests are answered: HAProxy hears of a gateway later than Ray Serve."""
    end = time.perf_counter() + START_S
    while time.perf_counter() < end:
        try:
            if client.post("/papers", json=BODY).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit("the gateway did not answer")


def listening() -> str:
    """Addresses on which the processes listen that take requests."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        title = " ".join(process.cmdline())
        for word in LISTENING:
            if word in title:
                found |= {
                    f"{word} {each.laddr.ip}"
                    for each in process.net_connections("tcp")
                    if each.status == "LISTEN"
                }
    return ", ".join(sorted(found))


def cpu_seconds() -> float:
    """CPU seconds of all processes that this one has started."""
    return cpu_seconds_of(psutil.Process().children(recursive=True))


if __name__ == "__main__":
    main()

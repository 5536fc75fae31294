"""`cocite serve` in a process of its own, and the CPU time of all processes that it starts."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil

END_S = 180
"""Seconds for the endpoint to end: Ray Serve waits for a stopped replica as long as a request may take."""
START_S = 600
PORTS = range(20_000, 30_000)
KINDS = {
    "ProxyActor": "proxy",
    "ServeController": "controller",
    ":Gateway": "gateways",
    ":Retriever": "retrievers",
    ":Reranker": "rerankers",
}
"""Words in the command lines of the endpoint's processes, and what these are."""


@contextmanager
def endpoint(index: Path, model: Path | None, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The address of an endpoint over an index, and its process, which is ended when the block ends.

    Raises:
        SystemExit: it ended, or did not answer within :data:`START_S`.
    """
    port = free_port()
    command = [str(Path(sys.executable).with_name("cocite")), "serve", "--index", str(index)]
    command += ["--model", str(model)] if model else []
    begin = time.perf_counter()
    command += ["--port", str(port), "--set", f"start_s={START_S}"]
    process = subprocess.Popen([*command, *options])
    url = f"http://127.0.0.1:{port}"
    try:
        while not healthy(url):
            if process.poll() is not None or time.perf_counter() - begin > START_S:
                raise SystemExit("the endpoint did not start")
            time.sleep(0.2)
        print(f"up in {time.perf_counter() - begin:.1f} s", flush=True)
        yield url, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(END_S)


def healthy(url: str) -> bool:
    """Whether the endpoint says that it answers."""
    try:
        return httpx.get(f"{url}/v1/health", timeout=2).status_code == 200
    except httpx.TransportError:
        return False


def free_port() -> int:
    """A port of the loopback address that nobody listens on, outside of those that Linux gives to connections.

    Ray takes some hundred of the latter while an endpoint starts, which would often be the one that was free before.
    """
    for port in random.Random().sample(PORTS, len(PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise SystemExit("no port is free")


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """CPU seconds of the endpoint's processes so far, Ray's own included."""
    root = psutil.Process(process.pid)
    return cpu_seconds_of([root, *root.children(recursive=True)])


def cpu_by_kind(process: subprocess.Popen[bytes]) -> dict[str, float]:
    """CPU seconds of the endpoint's processes so far, by what they are; ``Ray`` are those of Ray's own."""
    root = psutil.Process(process.pid)
    totals = dict.fromkeys((*KINDS.values(), "command", "Ray"), 0.0)
    for each in (root, *root.children(recursive=True)):
        try:
            title = " ".join(each.cmdline())
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        kinds = [kind for word, kind in KINDS.items() if word in title]
        kind = "command" if each == root else kinds[0] if kinds else "Ray"
        totals[kind] += cpu_seconds_of([each])
    return totals


def cpu_seconds_of(processes: Iterable[psutil.Process]) -> float:
    """CPU seconds of some processes so far; those that have ended count nothing."""
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        total += times.user + times.system
    return total

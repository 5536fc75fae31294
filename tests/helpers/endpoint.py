"""A real endpoint for the tests of this folder: `cocite serve` in a process of its own, with a Ray of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

START_S = 600
"""Seconds to wait for a machine that does other things too; usually 15."""
STOP_S = 240
_FIRST = 20_000 + 1_000 * (1 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw-1").removeprefix("gw")))
# None twice, and begun anywhere in the thousand: another run of the tests on this machine has the same.
_PORTS = iter([_FIRST + (os.getpid() + number) % 1_000 for number in range(1_000)])


@dataclass
class Running:
    """An endpoint that answers."""

    url: str
    model: Path | None
    index: Path
    process: subprocess.Popen[str]
    code: int = 0
    """The exit code that it is to end with."""


def free_port() -> int:
    """A port of this test process's own that nothing uses, outside of those that Linux gives to connections."""
    for port in _PORTS:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is left")


@contextmanager
def serving(
    model: Path | None, index: Path, log: Path, *options: str, environment: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """Run ``cocite serve`` until the block ends, then end it by SIGTERM and hold it to its exit code.

    ``environment`` is what it has beside that of the tests.
    """
    port = free_port()
    command = [str(Path(sys.executable).with_name("cocite")), "serve", "--index", str(index)]
    command += ["--model", str(model)] if model is not None else []
    command += ["--set", f"start_s={START_S}"]
    with log.open("w") as file:
        process = subprocess.Popen(
            [*command, "--port", str(port), *options],
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", **(environment or {})},
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(process, url, log)
        running = Running(url, model, index, process)
        yield running
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        code = process.wait(STOP_S)
        assert code == running.code, f"ended with {code}:\n{log.read_text()}"
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def replicas_of(running: Running, deployment: str) -> list[psutil.Process]:
    """The processes of the replicas of a deployment; one that ends meanwhile is left out."""
    return processes_of(running, f":{deployment}")


def processes_of(running: Running, title: str) -> list[psutil.Process]:
    """The processes of an endpoint whose titles hold some words; one that ends meanwhile is left out."""
    found = []
    for process in psutil.Process(running.process.pid).children(recursive=True):
        with suppress(psutil.Error):
            if title in " ".join(process.cmdline()):
                found.append(process)
    return found


def replica_of(running: Running, deployment: str) -> int | None:
    """The process of the only replica of a deployment; None while there is none."""
    return next((process.pid for process in replicas_of(running, deployment)), None)


def _wait(process: subprocess.Popen[str], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_S + STOP_S
    while time.monotonic() < deadline:
        assert process.poll() is None, f"cocite serve ended with {process.returncode}:\n{log.read_text()}"
        try:
            if httpx.get(f"{url}/v1/health", timeout=10).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"no answer from {url}/v1/health in {START_S} s:\n{log.read_text()}")

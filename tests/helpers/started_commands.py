"""Commands that run until they are ended, such as servers, started as whoever runs them would start them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from helpers.endpoint import START_S, STOP_S


@contextmanager
def started(
    command: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A command, until the block ends; then it is ended by SIGTERM, as systemd and Docker do that.

    Args:
        command: its words; a program without a folder is one of the environment that runs the tests.
        log: takes what it writes.
        environment: what it has beside that of the tests.
        folder: that it runs in.
    """
    binaries = Path(sys.executable).parent
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    with log.open("w") as file:
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            cwd=folder,
            env={**os.environ, "PATH": path, "RAY_USAGE_STATS_ENABLED": "0", **environment},
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        finally:
            with suppress(ProcessLookupError):  # what a server has started and left
                os.killpg(process.pid, signal.SIGKILL)


def until_answered(process: subprocess.Popen[str], url: str, log: Path) -> None:
    """Wait for an answer of 200, as long as the process runs."""
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(url, timeout=10).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"no answer from {url}:\n{log.read_text()}")

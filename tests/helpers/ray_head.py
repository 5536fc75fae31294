"""A real Ray cluster of one node for the tests of this folder, with ports and a token of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psutil

from helpers.endpoint import free_port

START_S = 300
STOP_S = 240
STARTS = 4
"""Attempts to start a head: Ray gives its first processes 30 s, which a busy machine exceeds."""
TOO_SLOW = ("timed out during startup", "Timed out waiting for node info")
"""What a head says that did not wait long enough for its processes, or one of them for its node."""
GIVEN_UP = "Remaining processes will be killed"
"""What a head says that ends because one of its processes ended."""
UP = "This command will now block forever"
"""What it says when all are started; from then on it looks once a second whether one has ended."""
ANSWERS = 5
"""After so many, half a second apart, it has looked."""


@dataclass(frozen=True)
class Head:
    """A cluster's head node.

    Attributes:
        dashboard: its HTTP address, where jobs are sent.
        environment: what a client of it needs.
        address: where programs that connect to Ray itself find it.
    """

    dashboard: str
    environment: dict[str, str]
    address: str

    def cocite(
        self, *arguments: object, timeout: float = 900, folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line as a user of this cluster, in a working directory."""
        return subprocess.run(
            [sys.executable, "-m", "cocite", *map(str, arguments), "--address", self.dashboard],
            capture_output=True, text=True, timeout=timeout, env=self.environment, check=False, cwd=folder,
        )  # fmt: skip


@contextmanager
def head(
    folder: Path, *, cpus: int = 2, gpus: int = 0, more: Mapping[str, str] | None = None
) -> Iterator[Head]:
    """Start a head node; it and all it started end with the block.

    Args:
        folder: for its token and its log; Ray's own files go to a short path, for the sake of its sockets.
        cpus: that it offers.
        gpus: likewise, which need not be there.
        more: of its environment.
    """
    token = folder / "token"
    token.write_text("0123456789abcdef" * 4)
    binaries = Path(sys.executable).parent
    environment = os.environ | {
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_AUTH_MODE": "token",
        "RAY_USAGE_STATS_ENABLED": "0",
        # A head that is ended waits as long, 30 s unless told, for what still runs on it: here that is nothing.
        "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        **(more or {}),
    }
    command = [
        str(binaries / "ray"),
        "start",
        "--head",
        "--block",
        "--include-dashboard=true",
        f"--num-cpus={cpus}",
        f"--num-gpus={gpus}",
    ]
    command += [
        "--dashboard-host=127.0.0.1",
        "--node-ip-address=127.0.0.1",
        "--object-store-memory=100000000",
    ]
    with TemporaryDirectory(prefix="cocite-head-", ignore_cleanup_errors=True) as short:
        for start in range(STARTS):
            url, address, process = _start(
                [*command, f"--temp-dir={short}/{start}"], environment, folder / "head.log"
            )
            try:
                if not _answers(process, url, token.read_text(), folder / "head.log"):
                    _kill(process)
                    continue
                # A user's shell names the token but not the mode.
                mode = {k: v for k, v in environment.items() if k != "RAY_AUTH_MODE"}
                yield Head(url, mode, address)
                return
            finally:
                process.terminate()
                process.wait(STOP_S)
        raise AssertionError(f"ray start was too slow {STARTS} times:\n{(folder / 'head.log').read_text()}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a head that gave up, and all it started: its handler of SIGTERM may wait for a lock that it holds itself."""
    if process.poll() is None:
        for each in [*psutil.Process(process.pid).children(recursive=True), process]:
            with suppress(psutil.NoSuchProcess):
                each.kill()


def _start(
    command: list[str], environment: dict[str, str], log: Path
) -> tuple[str, str, subprocess.Popen[bytes]]:
    """Start a head on free ports; its dashboard's address, its own and its process."""
    names = ("port", "dashboard-port", "ray-client-server-port")
    ports = {
        name: free_port() for name in (*names, "dashboard-agent-listen-port", "dashboard-agent-grpc-port")
    }
    command = [*command, *(f"--{name}={value}" for name, value in ports.items())]
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)
    return f"http://127.0.0.1:{ports['dashboard-port']}", f"127.0.0.1:{ports['port']}", process


def _answers(process: subprocess.Popen[bytes], url: str, token: str, log: Path) -> bool:
    """Wait until a head answers; False where Ray itself did not wait long enough for its processes."""
    deadline, answers = time.monotonic() + START_S, 0
    while time.monotonic() < deadline:
        text = log.read_text()
        if process.poll() is not None or GIVEN_UP in text:
            assert any(reason in text for reason in TOO_SLOW), (
                f"ray start ended with {process.poll()}:\n{text}"
            )
            return False
        try:
            answer = httpx.get(f"{url}/api/jobs/", timeout=10, headers={"Authorization": f"Bearer {token}"})
            answers += UP in text and answer.status_code == 200
            if answers == ANSWERS:
                return True
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"no answer from {url} in {START_S} s:\n{log.read_text()}")

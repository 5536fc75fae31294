"""Machines that share nothing but a network: namespaces of this one, with temporary and home folders of their own.

They share this machine's code, which they cannot write, and what Numba compiles of it, which takes a process ten
seconds. What is not allowed to make namespaces skips its tests.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helpers import isolated_machine
from helpers.sources import ROOT

STOP_S = 120
COMPILED = Path(os.environ["NUMBA_CACHE_DIR"])
"""Where Numba keeps what it has compiled."""


@dataclass
class Machine:
    """One of the machines.

    Attributes:
        address: its IP address; all have the loopback interface of a network of their own.
        process: id of its first process, as this machine knows it.
        environment: variables of the commands that run on it.
    """

    address: str
    process: int
    environment: dict[str, str] = field(default_factory=dict)

    def start(
        self, command: str | Sequence[object], *, folder: Path | str = "/tmp", **variables: str
    ) -> subprocess.Popen[str]:
        """Start a command line of a shell, or a program with its arguments."""
        words = ["bash", "-c", command] if isinstance(command, str) else list(map(str, command))
        enter = ["nsenter", "-t", str(self.process), *_user_namespace("-U", "--preserve-credentials")]
        return subprocess.Popen(
            [*enter, "-m", "-p", "-n", f"--wdns={folder}", "--", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment | variables,
            start_new_session=True,  # as it would on another machine; Linux gives each session its share of the cores
        )

    def run(
        self,
        command: str | Sequence[object],
        *,
        folder: Path | str = "/tmp",
        timeout: float = 900,
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(command, folder=folder, **variables)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def kill(self, words: str, number: int = signal.SIGKILL) -> int:
        """Send a signal to the machine's processes whose command lines contain some words; how many there were.

        Signal 0 counts them, and does nothing to them.
        """
        mine, killed = os.readlink(f"/proc/{self.process}/ns/pid"), 0
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended meanwhile
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if words in line and os.readlink(folder / "ns" / "pid") == mine:
                    os.kill(int(folder.name), number)
                    killed += 1
        return killed


@contextmanager
def machines(names: Sequence[str], *, shared: dict[str, Path] | None = None) -> Iterator[dict[str, Machine]]:
    """Machines by their names; all their processes end with the block.

    Args:
        names: of the machines.
        shared: folders of this machine that a machine of this name sees, and may write to.
    """
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("needs unshare and nsenter of util-linux")
    COMPILED.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        network = stack.enter_context(_holder(["unshare", *_user_namespace("-r"), "-n"], {"network": True}))
        inside = ["nsenter", "-t", str(network), *_user_namespace("-U", "--preserve-credentials"), "-n"]
        found = {}
        for number, name in enumerate(names, start=11):
            written = [str(COMPILED), *([str(shared[name])] if shared and name in shared else [])]
            settings = {"network": False, "kept": _code(), "written": written}
            command = [*inside, "unshare", "-m", "-p", "--fork", "--kill-child", "--mount-proc"]
            process = stack.enter_context(_holder(command, settings))
            found[name] = Machine(f"127.0.0.{number}", process, _environment())
        yield found


@contextmanager
def _holder(command: list[str], settings: dict[str, object]) -> Iterator[int]:
    """The first process of new namespaces; its id as this machine knows it."""
    program = [sys.executable, isolated_machine.__file__, json.dumps(settings)]
    process = subprocess.Popen(
        [*command, *program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stderr is not None
    if process.stdout.readline() != "ready\n":
        process.kill()
        pytest.skip(f"namespaces are not allowed here: {process.stderr.read().strip()}")
    try:
        yield _last_child(process.pid)
    finally:
        process.stdin.close()
        process.wait(STOP_S)


def _last_child(process: int) -> int:
    """``unshare --fork`` and ``nsenter`` start the program as a child of theirs."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return _last_child(int(children[0])) if children else process


def _user_namespace(*options: str) -> list[str]:
    """Options that only other users than root need."""
    return list(options) if os.geteuid() else []


def _code() -> list[str]:
    """Folders that hold the code: this checkout, the environment, and whatever the environment links to."""
    packages = Path(sysconfig.get_paths()["purelib"])
    linked = {path.resolve().parent for path in packages.iterdir() if path.is_symlink()}
    folders = {ROOT, Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent, *linked}
    return [str(folder) for folder in folders if not folders.intersection(folder.parents)]


def _environment() -> dict[str, str]:
    """A user's on a new machine, and what keeps the tests offline and small."""
    from_here = {name: os.environ[name] for name in ("LANG", "LC_ALL", "PYTHONPATH") if name in os.environ}
    return from_here | {
        "HOME": str(Path.home()),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "NUMBA_CACHE_DIR": str(COMPILED),
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_agent_register_timeout_ms": "240000",
        "RAY_worker_register_timeout_seconds": "300",
        "TOKENIZERS_PARALLELISM": "false",
        "NO_COLOR": "1",
        "COLUMNS": "120",
    }

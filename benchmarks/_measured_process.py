"""A command in a process of its own: its time, its peak memory by kind, and what it prints as JSON."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

INTERVAL = 0.02
"""Seconds between two samples of the memory."""


class MemorySampler:
    """Samples the resident memory of a process until it ends, and ends it where it takes too much.

    Attributes:
        anonymous: peak of what the process wrote, in bytes: the system cannot give it to others.
        mapped: peak of the pages of mapped files that it touched, in bytes: the system can take them back.
        stopped: whether the process was ended because it took more anonymous memory than the limit.
    """

    def __init__(self, pid: int, limit: float) -> None:
        self.pid, self.limit = pid, limit
        self.anonymous = self.mapped = 0
        self.stopped = False
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._end.wait(INTERVAL):
            now = resident(self.pid)
            self.anonymous = max(self.anonymous, now.get("RssAnon", 0))
            self.mapped = max(self.mapped, now.get("RssFile", 0) + now.get("RssShmem", 0))
            if self.anonymous > self.limit and not self.stopped:
                self.stopped = True
                os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Take no more samples; called before the process id is given back."""
        self._end.set()
        self._thread.join()


def resident(pid: int | str = "self") -> dict[str, int]:
    """The resident memory of a process by kind, in bytes; empty where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return {
        name: 1024 * int(value.split()[0])
        for name, _, value in (line.partition(":") for line in lines)
        if name.startswith("Rss")
    }


def measured(command: Sequence[object], limit: float) -> dict[str, Any]:
    """Run a command and measure it.

    Args:
        command: its last line of output, or all of it, may be a JSON object.
        limit: bytes of anonymous memory at which it is ended.

    Returns:
        seconds, peaks in MB, and ``says``: what it printed; or ``failed``: why it did not end well.
    """
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        # OMP, Numba and torch take one thread each, so that CPU seconds compare.
        threads = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        process = subprocess.Popen([*map(str, command)], stdout=output, env={**os.environ, **threads})
        sampler = MemorySampler(process.pid, limit)
        # Without WNOWAIT the number of the process could be another's while samples are still taken.
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        except BaseException:
            process.kill()
            raise
        finally:
            sampler.end()
            # Unlike the usage of all children together, this is of that one process and those it waited for.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        output.seek(0)
        printed = output.read()
    result: dict[str, Any] = {
        "wall_s": round(wall, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": round(usage.ru_maxrss * 1024 / 1e6, 1),
        "anonymous_mb": round(sampler.anonymous / 1e6, 1),
        "mapped_mb": round(sampler.mapped / 1e6, 1),
    }
    if sampler.stopped:
        result["failed"] = f"took more than {limit / 2**30:.1f} GiB"
    elif process.returncode:
        result["failed"] = f"ended with {process.returncode}"
    else:
        result["says"] = json.loads(printed) if printed.strip() else {}
    return result


def disk_mb(*folders: Path) -> float:
    """Size of all files of some folders; a file with two names there counts once."""
    files = {
        (stat.st_dev, stat.st_ino): stat.st_size
        for folder in folders
        for stat in (path.stat() for path in folder.rglob("*") if path.is_file())
    }
    return round(sum(files.values()) / 1e6, 1)


def machine() -> dict[str, Any]:
    """What the machine is, and how busy."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "load": round(os.getloadavg()[0], 1),
    }


def provenance(benchmark: str) -> dict[str, Any]:
    """What the figures of a result come from: the day, the command that made them, the processor, and its cores."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": " ".join(["python -m", f"benchmarks.{benchmark}", *sys.argv[1:]]),
        "device": processor(),
        "cores": len(os.sched_getaffinity(0)),
    }


def processor() -> str:
    """The name of the processor, as the system gives it."""
    path = Path("/proc/cpuinfo")
    for line in path.read_text().splitlines() if path.is_file() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()

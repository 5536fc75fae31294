"""The Ray that an endpoint starts for itself: whether it still runs, and what to do where it does not."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress

import psutil

LOOK_S = 0.5
"""Seconds between two looks while something waits for Ray."""
NEEDED = ("raylet", "gcs_server")
"""Without these processes Ray starts nothing and answers nothing, and its calls wait for a minute or for ever."""


def lost_process() -> str | None:
    """The name of a process without which this process' own Ray cannot work and which has ended; None while all run.

    None, too, where this process has started no Ray.

    Example:
        >>> lost_process() is None
        True
    """
    return next((name for name, process in _needed() if process.poll() is not None), None)


def run_unless_lost(work: Callable[[], None]) -> None:
    """Do what needs Ray, and return without its end as soon as Ray is lost.

    Args:
        work: is done in a thread of its own, which is left behind where Ray is lost. What it raises is raised here.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive() and lost_process() is None:
        thread.join(LOOK_S)
    if raised:
        raise raised[0]


def kill_workers() -> None:
    """Kill the workers of this process' own Ray that outlived it: they would keep its ports and their memory."""
    raylets = {str(process.pid) for name, process in _needed() if name == "raylet"}
    if not raylets:
        return
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.uids().real == os.getuid() and process.environ().get("RAY_RAYLET_PID") in raylets:
                process.kill()


def _needed() -> list[tuple[str, subprocess.Popen[bytes]]]:
    import ray

    # Ray names no public way to its own processes.
    node = ray._private.worker._global_node
    if node is None:
        return []
    return [(name, info.process) for name in NEEDED for info in node.all_processes.get(name, ())]

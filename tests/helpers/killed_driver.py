"""A driver of steps that is killed when so many parts are recorded, while another one is in the making.

What makes parts calls :func:`hold`, which lets it go on no further then: however slowly the test looks, it finds the
rest undone.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from cocite_jobs.steps.parts import Part, Result

TESTS = Path(__file__).parents[1]
HOLD = "COCITE_TESTS_HOLD"
"""Environment variable: a count, a colon, and a pattern of files."""
WAIT_S = 600


def hold() -> None:
    """Wait for the end of this process, where as many files are there as the environment says; else return."""
    count, _, recorded = os.environ.get(HOLD, "0:").partition(":")
    if recorded and len(glob.glob(recorded)) >= int(count):
        time.sleep(2 * WAIT_S)


def held(make: Callable[[Part], Result]) -> Callable[[Part], Result]:
    """What makes so many parts as the test wants, and no more."""

    def make_held(part: Part) -> Result:
        hold()
        return make(part)

    return make_held


def run_killed(program: str, *arguments: object, recorded: Path, count: int) -> None:
    """Run a driver until it has recorded so many parts, then kill it and all that it has started.

    Args:
        program: in Python; what makes its parts calls :func:`hold`.
        arguments: of the program.
        recorded: pattern of the files that record parts.
        count: of parts.
    """
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, HOLD: f"{count}:{recorded}"}
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], env=environment)
    deadline = time.monotonic() + WAIT_S
    while len(glob.glob(str(recorded))) < count and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    started = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    for each in started:  # a worker that outlives its driver for a moment would still write
        with suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(started, WAIT_S)

"""Work that meets trouble, for tests of what a worker does for a driver."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cocite.corpus.store import Corpus
from cocite.errors import NotFoundError
from cocite_jobs.storage.location import Location
from cocite_jobs.training.progress import ProgressCallback

LONG_S = 600


@dataclass(frozen=True)
class Trouble:
    """What happens while the work is done, and the folder in which it leaves notes."""

    what: Literal["nothing", "killed once", "killed", "long", "deaf once", "lacks", "defect"]
    notes: Path
    lacks: str = ""
    """The file that is not there."""


def work(trouble: Trouble, corpus: Corpus, to: Location, progress: ProgressCallback) -> dict[str, Any]:
    """Note the process' id; say something of each kind; return what is seen."""
    with (trouble.notes / "begun").open("a") as begun:
        begun.write(f"{os.getpid()}\n")
    killed_before = len((trouble.notes / "begun").read_text().split()) > 1
    if trouble.what == "killed" or (trouble.what == "killed once" and not killed_before):
        os.kill(os.getpid(), signal.SIGKILL)
    if trouble.what == "lacks":
        raise NotFoundError("no such file", where=trouble.lacks)
    if trouble.what == "defect":
        raise ZeroDivisionError("a defect")
    progress.stage("troubles", 7)
    progress.advance(3)
    try:
        if trouble.what == "deaf once":  # as where an interrupt comes while a destructor runs
            with contextlib.suppress(KeyboardInterrupt):
                _sleep()
        if trouble.what in ("long", "deaf once"):
            _sleep()
    finally:
        (trouble.notes / "ended").touch()
    progress.advance(4)
    progress.log({"MRR": 0.5}, 2)
    return {"process": os.getpid(), "papers": len(corpus), "here": os.getcwd(), "files": to.names()}


def _sleep() -> None:
    until = time.monotonic() + LONG_S
    while time.monotonic() < until:
        time.sleep(0.05)

"""A driver that ends while a worker of its own Ray does its work.

``python -m helpers.interrupted_driver CORPUS FOLDER``: the work leaves its notes in the folder.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

from cocite.corpus.store import Corpus
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.storage.location import Location
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.worker_task import WorkerTask, run_on_worker
from helpers.troubled_work import Trouble, work


def end(description: str, _: int) -> None:
    """End the driver when the work has begun."""
    if description == "troubles":
        raise KeyboardInterrupt


def main(corpus: Path, folder: Path) -> None:
    """Have a worker do what takes long, and end meanwhile."""
    trouble = partial(work, Trouble("long", folder))
    task = WorkerTask(trouble, "seeking trouble", "do it again", ".trouble", WorkerSettings())
    with ray_connection("local"), suppress(KeyboardInterrupt):
        run_on_worker(
            task, Corpus.open(corpus), str(corpus), Location.of(folder), ProgressFunctions(stage=end)
        )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

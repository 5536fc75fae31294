"""The Ray that a training runs on: one of its own on this machine, or one that is there already."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cocite.errors import BusyError, ConfigError, InputError
from cocite.locks import locked
from cocite.ray_start import check_address, ray_errors, start_patiently
from cocite.training.engine.settings import WorkerSettings

LOCAL = "local"
SCRATCH = "cocite-ray-"
START_S = 90.0
"""Seconds for which a Ray that a busy machine did not bring up in time is started again."""
YOUNG_S = 60
"""Seconds for which a scratch folder is left alone though nobody has locked it yet."""
STORE_BYTES = 128 * 2**20
"""Ray's shared memory on this machine: what passes through it here is a few metrics."""


@contextmanager
def connected(address: str | None = None, *, verbose: bool = False) -> Iterator[Path]:
    """Connect to Ray while the block runs.

    Args:
        address: of a cluster that this machine belongs to; ``None``: what ``RAY_ADDRESS`` names (a job finds its
            cluster there), else a private Ray that ends with the block.
        verbose: let Ray and its workers write to this terminal.

    Yields:
        a scratch folder of this process.

    Raises:
        InputError: a cluster at such an address takes jobs only, or no cluster answers there.
        CociteError: Ray did not come up.
    """
    where = "--address" if address else "RAY_ADDRESS"
    address = address or os.environ.get("RAY_ADDRESS") or LOCAL
    if address.startswith(("ray://", "http://", "https://")):
        raise InputError(f"{address!r} is reached by jobs only", where=where, hint="use cocite job submit")
    check_address(address, where)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    with scratch() as folder:
        if ray.is_initialized():  # a caller's Ray, such as a sweep's: it is not ours to end
            yield folder
            return
        options: dict[str, Any] = {"log_to_driver": verbose, "logging_level": "info" if verbose else "error"}
        if address == LOCAL:
            options |= {"include_dashboard": False, "object_store_memory": STORE_BYTES}
            if "RAY_TMPDIR" not in os.environ:
                options["_temp_dir"] = str(folder)
        try:
            with ray_errors("Ray did not start" if address == LOCAL else f"no Ray at {address}", folder):
                start_patiently(lambda: ray.init(address, **options), ray.shutdown, START_S)
            yield folder
        finally:
            ray.shutdown()


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone with the block; those of processes that were killed are cleared away first."""
    for old in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        with suppress(BusyError, OSError):
            if time.time() - old.stat().st_mtime > YOUNG_S:
                with locked(old / ".lock"):
                    shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=SCRATCH))
    try:
        with locked(folder / ".lock"):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def workers_range(workers: WorkerSettings) -> tuple[int, int]:
    """The least and the greatest number of workers.

    Raises:
        ConfigError: there would be none.
    """
    least, most = workers.count if isinstance(workers.count, tuple) else (workers.count, workers.count)
    if least < 1:
        raise ConfigError(
            f"workers.count: {workers.count!r} is no number of workers",
            where="recipe",
            hint="at least 1, or a range such as [2, 4]",
        )
    return least, most


def resources(workers: WorkerSettings) -> dict[str, float]:
    """What Ray sets aside for one worker."""
    return {"CPU": workers.cpus} | ({"GPU": workers.gpus} if workers.gpus else {})


def check_resources(workers: WorkerSettings, nodes: list[Mapping[str, float]]) -> None:
    """Refuse a training whose smallest number of workers cannot be placed.

    Args:
        workers: what is asked for.
        nodes: the resources of each living node: a worker lies on one node, whole.

    Raises:
        InputError: a cluster that does not grow would wait for ever.
    """
    least, _ = workers_range(workers)
    asked = resources(workers)
    for name, amount in asked.items():
        total = sum(node.get(name, 0.0) for node in nodes)
        if total < amount * least:
            raise InputError(
                f"{least} x {amount:g} {name} are asked for, and the cluster has {total:g}",
                where="workers",
                hint="lower workers.count" + (", workers.gpus" if name == "GPU" else ", workers.cpus"),
            )
    if (places := room(workers, nodes)) < least:
        raise InputError(
            f"{least} workers are asked for, and the cluster's nodes have room for {places}",
            where="workers",
            hint="lower workers.count, workers.cpus or workers.gpus",
        )


def room(workers: WorkerSettings, nodes: list[Mapping[str, float]]) -> int:
    """How many such workers the nodes hold at a time, each worker on one node, whole."""
    asked = resources(workers)
    return sum(
        min(int(node.get(name, 0.0) / amount + 1e-9) for name, amount in asked.items()) for node in nodes
    )

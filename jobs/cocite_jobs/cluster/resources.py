"""The resources that a training's workers need, and whether a cluster has them."""

from __future__ import annotations

from collections.abc import Mapping

from cocite.errors import ConfigError, InputError
from cocite.training.engine.settings import WorkerSettings


def worker_range(workers: WorkerSettings) -> tuple[int, int]:
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


def worker_resources(workers: WorkerSettings) -> dict[str, float]:
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
    least, _ = worker_range(workers)
    asked = worker_resources(workers)
    for name, amount in asked.items():
        total = sum(node.get(name, 0.0) for node in nodes)
        if total < amount * least:
            raise InputError(
                f"{least} x {amount:g} {name} are asked for, and the cluster has {total:g}",
                where="workers",
                hint="lower workers.count" + (", workers.gpus" if name == "GPU" else ", workers.cpus"),
            )
    if (capacity := worker_capacity(workers, nodes)) < least:
        raise InputError(
            f"{least} workers are asked for, and the cluster's nodes have room for {capacity}",
            where="workers",
            hint="lower workers.count, workers.cpus or workers.gpus",
        )


def worker_capacity(workers: WorkerSettings, nodes: list[Mapping[str, float]]) -> int:
    """How many such workers the nodes hold at a time, each worker on one node, whole."""
    asked = worker_resources(workers)
    return sum(
        min(int(node.get(name, 0.0) / amount + 1e-9) for name, amount in asked.items()) for node in nodes
    )

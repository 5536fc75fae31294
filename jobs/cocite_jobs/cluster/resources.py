"""What a training's workers need, and whether a cluster has the resources and a recipe the examples for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cocite.errors import ConfigError, InputError
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.driver_resources import ACCELERATOR, GPUS, PRESENT

NO_GPUS = {GPUS: ""}
"""Variables of a process from which all GPUs are hidden."""


def worker_range(workers: WorkerSettings) -> tuple[int, int]:
    """The least and the greatest number of workers.

    Raises:
        ConfigError: there would be none.

    Example:
        >>> worker_range(WorkerSettings(count=3)), worker_range(WorkerSettings(count=(2, 4)))
        ((3, 3), (2, 4))
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
    """The resources that Ray reserves for one worker, by Ray's names of resources.

    Example:
        >>> worker_resources(WorkerSettings(cpus=2, gpus=0.5))
        {'CPU': 2.0, 'GPU': 0.5}
    """
    needed = {"CPU": workers.cpus} | ({"GPU": workers.gpus} if workers.gpus else {})
    return needed | ({ACCELERATOR + workers.accelerator: PRESENT} if workers.accelerator else {})


def resolve_gpus(workers: WorkerSettings, nodes: list[Mapping[str, float]]) -> WorkerSettings:
    """The workers with a number of GPUs: see :func:`gpus_of_worker`.

    Args:
        workers: how many, and what each needs.
        nodes: the resources of each living node, by Ray's names.

    Example:
        >>> [resolve_gpus(WorkerSettings(), [node]).gpus for node in ({"CPU": 4.0}, {"CPU": 4.0, "GPU": 1.0})]
        [0, 1]
        >>> resolve_gpus(WorkerSettings(gpus=0), [{"CPU": 4.0, "GPU": 1.0}]).gpus
        0.0
        >>> resolve_gpus(WorkerSettings(accelerator="H100"), [{"CPU": 4.0}]).gpus
        1
    """
    return workers.model_copy(update={"gpus": gpus_of_worker(workers.gpus, workers.accelerator, nodes)})


def gpus_of_worker(gpus: float | None, accelerator: str | None, nodes: list[Mapping[str, float]]) -> float:
    """The GPUs that are reserved for a worker: as many as were chosen; else one where a type of GPU is named or any
    node has GPUs; else none.

    Args:
        gpus: that were chosen; None: nobody did.
        accelerator: Ray's name of the type of GPU, whose nodes a growing cluster may not have yet; empty: any.
        nodes: the resources of each living node, by Ray's names.

    Example:
        >>> [gpus_of_worker(None, "", [node]) for node in ({"CPU": 4.0}, {"CPU": 4.0, "GPU": 1.0})]
        [0, 1]
        >>> gpus_of_worker(None, "H100", [{"CPU": 4.0}]), gpus_of_worker(0.5, "H100", [{"CPU": 4.0}])
        (1, 0.5)
    """
    return gpus if gpus is not None else int(bool(accelerator) or have_gpus(nodes))


def have_gpus(nodes: list[Mapping[str, float]]) -> bool:
    """Whether any node has GPUs, by Ray's names of resources.

    Example:
        >>> have_gpus([{"CPU": 4.0}]), have_gpus([{"CPU": 4.0}, {"CPU": 1.0, "GPU": 2.0}])
        (False, True)
    """
    return any(node.get("GPU", 0.0) > 0 for node in nodes)


def living_nodes() -> list[Mapping[str, float]]:
    """The resources of each living node of the Ray that this process is connected to, by Ray's names."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def free_cores() -> list[float]:
    """The CPUs of each living node that nobody has reserved; of all nodes the CPUs they have, where none is free.

    A job's own process has its reservation before it connects. Where nothing is free, others will have ended, or the
    cluster will have grown, before anything can be placed.
    """
    from ray._private.state import available_resources_per_node  # Ray has no public call for this

    free = [float(node.get("CPU", 0.0)) for node in available_resources_per_node().values()]
    return free if any(free) else [node.get("CPU", 0.0) for node in living_nodes()]


def worker_environment(gpus: float, nodes: list[Mapping[str, float]], *, grows: bool) -> dict[str, Any]:
    """Ray's runtime environment of workers, which hides the GPUs of a cluster from workers without any.

    Ray does not hide GPUs that a worker did not ask for, and torch takes what it sees. A process with variables of its
    own takes longer to start, so there is none where nothing is to be hidden.

    Args:
        gpus: that are reserved for each worker.
        nodes: the resources of each living node, by Ray's names.
        grows: whether other nodes may come, which may have GPUs (:func:`.connection.never_grows`).

    Example:
        >>> worker_environment(0, [{"CPU": 4.0, "GPU": 1.0}], grows=False)
        {'env_vars': {'CUDA_VISIBLE_DEVICES': ''}}
        >>> worker_environment(0, [{"CPU": 4.0}], grows=True)
        {'env_vars': {'CUDA_VISIBLE_DEVICES': ''}}
        >>> worker_environment(0, [{"CPU": 4.0}], grows=False), worker_environment(0.5, [{"CPU": 4.0}], grows=True)
        ({}, {})
    """
    return {} if gpus or not (grows or have_gpus(nodes)) else {"env_vars": dict(NO_GPUS)}


def check_resources(workers: WorkerSettings, nodes: list[Mapping[str, float]]) -> None:
    """Refuse a training whose smallest number of workers cannot be placed: Ray would wait for ever.

    Args:
        workers: how many, and what each needs.
        nodes: the resources of each living node, by Ray's names.

    Raises:
        InputError: the cluster has too little of a resource, or no node has enough of all for the last worker.

    Example:
        >>> check_resources(WorkerSettings(count=3, cpus=2), [{"CPU": 4.0}, {"CPU": 2.0}])
        >>> try:
        ...     check_resources(WorkerSettings(count=2, cpus=3), [{"CPU": 4.0}, {"CPU": 2.0}])
        ... except InputError as error:
        ...     print(error.message)
        2 workers are asked for, and the cluster's nodes have room for 1
    """
    least, _ = worker_range(workers)
    for name, amount in worker_resources(workers).items():
        total = sum(node.get(name, 0.0) for node in nodes)
        if total < amount * least:
            raise InputError(
                f"{least} x {amount:g} {name} are asked for, and the cluster has {total:g}",
                where="workers",
                hint="lower workers.count, workers.cpus"
                if name == "CPU"
                else "lower workers.count, workers.gpus; 0 GPUs: the workers train on CPUs",
            )
    if (capacity := worker_capacity(workers, nodes)) < least:
        raise InputError(
            f"{least} workers are asked for, and the cluster's nodes have room for {capacity}",
            where="workers",
            hint="lower workers.count, workers.cpus or workers.gpus",
        )


def worker_capacity(workers: WorkerSettings, nodes: list[Mapping[str, float]]) -> int:
    """The number of such workers that the nodes can have at a time; a worker is placed on one node as a whole.

    Example:
        >>> worker_capacity(WorkerSettings(cpus=3), [{"CPU": 8.0}, {"CPU": 2.0}])
        2
    """
    needed = worker_resources(workers)
    # Ray counts in ten-thousandths; without the tolerance, 0.3 / 0.1 would be 2 workers.
    return sum(
        min(int(node.get(name, 0.0) / amount + 1e-9) for name, amount in needed.items()) for node in nodes
    )


def check_part(needs: Mapping[str, float], nodes: list[Mapping[str, float]]) -> None:
    """Refuse parts that no node can ever make: Ray would wait for ever.

    Args:
        needs: the resources that Ray reserves for a part's worker, by Ray's names of resources.
        nodes: the resources of each living node, by the same names.

    Raises:
        InputError: no node has all of them.

    Example:
        >>> check_part({"CPU": 2.0}, [{"CPU": 1.0}, {"CPU": 4.0}])
        >>> try:
        ...     check_part({"CPU": 8.0, "GPU": 1.0}, [{"CPU": 16.0}, {"CPU": 4.0, "GPU": 1.0}])
        ... except InputError as error:
        ...     print(error.message)
        a worker needs 8 CPU and 1 GPU, and no node has them: the largest have 16 CPU; 4 CPU and 1 GPU
    """
    needed = {name: amount for name, amount in needs.items() if amount}
    if any(all(node.get(name, 0.0) >= amount for name, amount in needed.items()) for node in nodes):
        return
    offers = sorted({tuple(node.get(name, 0.0) for name in needed) for node in nodes}, reverse=True)
    largest = "; ".join(_listed(dict(zip(needed, offer, strict=True))) for offer in offers[:3])
    raise InputError(
        f"a worker needs {_listed(needed)}, and no node has them: "
        + (f"the largest have {largest}" if largest else "the cluster has no node"),
        where="--on ray",
        hint="ask for less, or pass --wait where the cluster grows",
    )


def _listed(amounts: Mapping[str, float]) -> str:
    """Amounts of resources in words, those that are there."""
    listed = [
        name.removeprefix(ACCELERATOR) if name.startswith(ACCELERATOR) else f"{amount:g} {name}"
        for name, amount in amounts.items()
        if amount
    ]
    return " and ".join(listed) or "nothing of them"


def check_batch(recipe: Any, workers: int) -> None:
    """Refuse more workers than a step has examples: those without an example would only run stand-ins.

    Args:
        recipe: of a kind that the training engine trains.
        workers: how many will train; of an elastic range the greatest number.

    Raises:
        ConfigError: ``training.batch`` is less than the number of workers.

    Example:
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> check_batch(load_recipe("scibert-local"), 2)
        Traceback (most recent call last):
        cocite.errors.ConfigError: training.batch: a step of 1 example cannot be shared out to 2 workers (set ...)
    """
    batch = recipe.training.batch
    if batch < workers:
        raise ConfigError(
            f"a step of {batch} example{'s' * (batch > 1)} cannot be shared out to {workers} workers",
            where="training.batch",
            hint=f"set it to {workers} or more, or workers.count to {batch} or less",
        )

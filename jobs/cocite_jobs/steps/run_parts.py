"""Making the parts of a step: in this process one after the other, or as tasks of Ray side by side.

Ray gives a part whose worker died, or whose machine was lost, to another worker. A part counts as made once the worker
has recorded it (:class:`~cocite_jobs.steps.parts.FinishedParts`): a step whose driver was killed makes those alone that
are missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from cocite.errors import CociteError, InputError
from cocite_jobs.cluster.connection import never_grows, ray_connection
from cocite_jobs.cluster.driver_resources import ACCELERATOR, PRESENT
from cocite_jobs.cluster.resources import check_part, gpus_of_worker, living_nodes, worker_environment
from cocite_jobs.steps.parts import FinishedParts, Part, Result, Work

RETRIES = 3
"""How often Ray gives a part to another worker after its own died."""
LOST_S = 30.0
"""Seconds after which a step ends when the cluster has lost all nodes that can make its parts."""
AHEAD = 2
"""Parts that wait at Ray for each worker, so that none is idle while the driver looks at results."""
AGAIN = "run the same command again: parts that are made already are kept"


@dataclass(frozen=True)
class Workers:
    """Who makes the parts of a step.

    Attributes:
        on: ``process``: this one; ``ray``: tasks of Ray.
        address: of a running cluster; None: what ``RAY_ADDRESS`` names, else a private Ray on this machine.
        count: at most so many parts are made at a time; None: as many as the cluster has room for.
        cpus: cores reserved for each, which are its threads, too.
        gpus: GPUs reserved for each, who sees no other; None: one where the cluster has any, or ``accelerator`` is
            named.
        accelerator: Ray's name of the GPU, such as H100, that each runs on; empty: any.
        wait: for nodes that the cluster does not have yet; otherwise, and always on a private Ray, parts that no node
            has room for are refused.
        verbose: show Ray's own log.

    Example:
        >>> Workers(on="ray", count=2, gpus=1).options
        {'num_cpus': 1.0, 'num_gpus': 1}
        >>> Workers(cpus=2, accelerator="H100").needs
        {'CPU': 2, 'GPU': 0.0, 'accelerator_type:H100': 0.001}
        >>> [Workers(gpus=None).on_nodes([node]).gpus for node in ({"CPU": 4.0}, {"CPU": 4.0, "GPU": 1.0})]
        [0, 1]
        >>> Workers(gpus=None, accelerator="H100", wait=True).on_nodes([{"CPU": 4.0}]).options
        {'num_cpus': 1.0, 'num_gpus': 1, 'accelerator_type': 'H100'}
    """

    on: str = "process"
    address: str | None = None
    count: int | None = None
    cpus: float = 1.0
    gpus: float | None = 0.0
    accelerator: str = ""
    wait: bool = False
    verbose: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Of a task, by Ray's names."""
        options = {"num_cpus": self.cpus, "num_gpus": self.gpus or 0.0}
        return options | ({"accelerator_type": self.accelerator} if self.accelerator else {})

    @property
    def needs(self) -> dict[str, float]:
        """What Ray reserves for each, by its names of resources."""
        needs = {"CPU": self.cpus, "GPU": self.gpus or 0.0}
        return needs | ({ACCELERATOR + self.accelerator: PRESENT} if self.accelerator else {})

    def on_nodes(self, nodes: list[Mapping[str, float]]) -> Workers:
        """The same with a number of GPUs, given the resources of each living node by Ray's names."""
        return replace(self, gpus=gpus_of_worker(self.gpus, self.accelerator, nodes))


def run_parts(
    work: Work,
    parts: Sequence[Part],
    finished: FinishedParts,
    workers: Workers,
    *,
    advance: Callable[[int], object] = lambda _: None,
) -> list[Result]:
    """Make the parts of a step that are not made yet.

    Args:
        work: how a part is made.
        parts: of the step.
        finished: the record of those that are made.
        workers: who makes them.
        advance: receives the size of each part that is made, of those made earlier at once.

    Returns:
        The results in the parts' order.

    Raises:
        InputError: no node of the cluster has room for a part, and the workers do not wait for one.
        CociteError: a part could not be made; those that were made stay recorded.
    """
    results = finished.read()
    missing = [part for part in parts if part.name not in results]
    if done := sum(part.size for part in parts) - sum(part.size for part in missing):
        advance(done)
    if missing:
        with _maker(work, finished, workers) as make:
            for part, result in make(missing):
                results[part.name] = result
                advance(part.size)
    return [results[part.name] for part in parts]


@contextmanager
def connected(workers: Workers) -> Iterator[None]:
    """Keep one connection to Ray for several steps by the same workers while the block runs."""
    if workers.on == "process":
        yield
        return
    with ray_connection(workers.address, verbose=workers.verbose):
        yield


Maker = Callable[[Sequence[Part]], Iterator[tuple[Part, Result]]]


@contextmanager
def _maker(work: Work, finished: FinishedParts, workers: Workers) -> Iterator[Maker]:
    """What makes parts while the block runs, and gives each as soon as it is made."""
    if workers.on == "process":
        yield lambda parts: ((part, make_part(work, part, finished)) for part in parts)
        return
    with connected(workers):
        yield lambda parts: _on_ray(work, parts, finished, workers)


def make_part(work: Work, part: Part, finished: FinishedParts) -> Result:
    """Make one part, and record it; runs in a worker."""
    result = _opened(work)(part)
    finished.add(part, result)
    return result


@lru_cache(maxsize=1)
def _opened(work: Work) -> Callable[[Part], Result]:
    """The same for all parts that a process makes."""
    return work.open()


def _on_ray(
    work: Work, parts: Sequence[Part], finished: FinishedParts, workers: Workers
) -> Iterator[tuple[Part, Result]]:
    import ray

    nodes = living_nodes()
    workers = workers.on_nodes(nodes)
    grows = not never_grows()
    nodes_left, waits = NodeCheck(workers.needs), workers.wait and grows
    if not waits:
        check_part(workers.needs, nodes)
    # ``max_calls=0``: Ray ends a process that had a GPU after one call, and every part would open the model again.
    options: dict[str, Any] = {"max_retries": RETRIES, "max_calls": 0, "scheduling_strategy": "SPREAD"}
    if environment := worker_environment(workers.gpus or 0, nodes, grows=grows):
        options["runtime_env"] = environment
    task = ray.remote(**options, **workers.options)(make_part)
    shared = ray.put(work)
    waiting = list(reversed(parts))
    running: dict[Any, Part] = {}
    try:
        while waiting or running:
            # Asked anew each time: a cluster grows and shrinks.
            while waiting and len(running) < _room(workers):
                part = waiting.pop()
                running[task.remote(shared, part, finished)] = part
            done, _ = ray.wait(list(running), timeout=1.0)
            if not done and not waits:
                nodes_left.check(living_nodes())
            for call in done:
                yield running.pop(call), received(call)
    finally:
        for call in running:
            ray.cancel(call, force=True)


class NodeCheck:
    """Notices that a cluster has lost all nodes that can make a part, which Ray would wait for without an end.

    Args:
        needs: what Ray reserves for a worker.

    Example:
        >>> check = NodeCheck({"CPU": 2.0})
        >>> check.check([{"CPU": 1.0}])  # for the first time: another node may come
    """

    def __init__(self, needs: Mapping[str, float]) -> None:
        self._needs = needs
        self._since: float | None = None

    def check(self, nodes: list[Mapping[str, float]]) -> None:
        """Refuse to go on where there has been no such node for :data:`LOST_S`: another may come in between."""
        try:
            check_part(self._needs, nodes)
        except InputError:
            now = time.monotonic()
            self._since = now if self._since is None else self._since
            if now - self._since > LOST_S:
                raise
        else:
            self._since = None


def _room(workers: Workers) -> int:
    """How many parts Ray is given at a time."""
    import ray

    if workers.count is not None:
        return workers.count
    total = ray.cluster_resources()
    needs = {name: need for name, need in workers.needs.items() if need}
    slots = min((int(total.get(name, 0.0) / need) for name, need in needs.items()), default=1)
    # Where the cluster has no room at all, a waiting task is what makes an autoscaler add a machine.
    return max(1, AHEAD * slots)


def received(call: Any, again: str = AGAIN) -> Result:
    """The result of a task; its error as a sentence.

    Args:
        call: what Ray gave for the call of the task; it has ended.
        again: what the user does after the cause is removed.

    Raises:
        CociteError: the task raised it, or its worker died more often than :data:`RETRIES`.
    """
    import ray
    from ray.exceptions import RayError, RayTaskError

    try:
        return dict(ray.get(call))
    except RayTaskError as error:
        cause = error.cause
        if isinstance(cause, CociteError):
            raise cause from error
        raise
    except RayError as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise CociteError(
            f"a worker died once more, after {RETRIES} retries: {line}",
            where="--on ray",
            hint=f"out of memory? see to it, then {again}",
        ) from error

"""A training's workers on Ray: the driver starts them, receives their events, and raises their errors as sentences.

Checkpoints do not pass through Ray. The workers write them themselves (:mod:`cocite_jobs.training.training_run`), each
atomically, and resume from the newest. So a checkpoint counts even if Ray's controller had not registered it when a
worker died, and a killed driver or a full disk leaves no registry to repair. The workers still report each checkpoint
to Ray, for Ray's own callbacks.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cocite.errors import CociteError
from cocite.training.engine.settings import WorkerSettings
from cocite.training.engine.wishes import Wishes
from cocite_jobs.cluster.connection import never_grows, ray_connection
from cocite_jobs.cluster.environment import default_environment
from cocite_jobs.cluster.resources import (
    check_resources,
    living_nodes,
    resolve_gpus,
    worker_environment,
    worker_range,
    worker_resources,
)
from cocite_jobs.training.progress import Event
from cocite_jobs.training.ray_actors import EventBuffer, PlacementGroupReaper
from cocite_jobs.training.ray_trainer import trainer
from cocite_jobs.training.ray_wishes import RayWishes, stop_with_driver
from cocite_jobs.training.torch_workers import group_config, raise_refusal
from cocite_jobs.training.types import TrainingJob
from cocite_jobs.training.worker import run_worker

DRAIN_INTERVAL_S = 0.3
"""Seconds between two times that the driver takes the workers' events."""
CLOSE_S = 30
"""Seconds for the reaper to remove the last placement groups."""
REAPER = "cocite-placement-group-reaper"
"""Name under which Ray knows the reaper: see :func:`reap_placement_groups`."""


@contextmanager
def reap_placement_groups() -> Iterator[None]:
    """While the block runs, free the workers' resources of trainings on the present Ray whose process was ended.

    Such a process called :func:`train_on_ray`, and was killed before that returned. Without the reaper the resources
    would be held until the whole Ray job ends.
    """
    import ray

    reaper = ray.remote(num_cpus=0)(PlacementGroupReaper).options(name=REAPER).remote()
    try:
        yield
    finally:
        if ray.is_initialized():  # an interrupt may have ended it
            with suppress(ray.exceptions.RayError):
                ray.get(reaper.close.remote(), timeout=CLOSE_S)
            ray.kill(reaper)


def train_on_ray(
    job: TrainingJob,
    workers: WorkerSettings,
    receive: Callable[[Event], None],
    *,
    address: str | None = None,
    wait: bool = False,
    verbose: bool = False,
) -> dict[str, Any]:
    """Train on Ray's workers; an unfinished training resumes at its last checkpoint.

    Args:
        job: what to train.
        workers: how many, and what each needs.
        receive: takes the progress events of rank 0.
        address: of a running cluster, see :func:`cocite_jobs.cluster.connection.ray_connection`.
        wait: wait for resources that the cluster does not have yet; a private Ray never has them.
        verbose: show Ray's own log.

    Returns:
        What :func:`cocite_jobs.training.worker.run_worker` returns on rank 0.

    Raises:
        CociteError: the cluster, the workers or the training failed in a way that its user can do something about.
    """
    worker_range(workers)
    receive(("stage", "starting Ray", 0))
    with ray_connection(address, verbose=verbose) as scratch, default_environment(_variables(workers)):
        import ray

        workers, nodes = place_workers(workers, wait=wait)
        receive(("stage", "starting workers", 0))
        this_node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        # No cores: on a small cluster the workers need all of them. On this node: a worker's lost node must not take
        # events with it.
        buffer = ray.remote(num_cpus=0, scheduling_strategy=this_node)(EventBuffer).remote()
        call = _BackgroundCall(lambda: _trainer(job, workers, buffer, scratch / "train", nodes).fit())
        wishes, told = Wishes(), False
        with wishes.on_sigterm():
            while True:
                # Waited for before the last drain: events that were sent just before the end would be lost the other
                # way round.
                has_ended = call.wait(DRAIN_INTERVAL_S)
                if wishes.stopping and not told:
                    buffer.stop.remote()
                    told = True
                for event in ray.get(buffer.drain.remote()):
                    receive(event)
                if has_ended:
                    return _result(call, workers)


def place_workers(workers: WorkerSettings, *, wait: bool) -> tuple[WorkerSettings, list[Mapping[str, float]]]:
    """The workers with a number of GPUs, and the resources of each living node of the present Ray, by Ray's names.

    Args:
        workers: how many, and what each needs.
        wait: for nodes that the cluster does not have yet.

    Raises:
        InputError: they cannot be placed, and nobody waits until they can.
    """
    nodes = living_nodes()
    workers = resolve_gpus(workers, nodes)
    if not wait or never_grows():
        check_resources(workers, nodes)
    return workers, nodes


class _BackgroundCall(threading.Thread):
    """Calls a function beside the main thread, which stays free to receive events, and to be interrupted."""

    def __init__(self, call: Callable[[], Any]) -> None:
        # A daemon: an interrupted process must be able to end while Ray's call does not return.
        super().__init__(daemon=True)
        self.call = call
        self.value: Any = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        """Call the function; runs in the thread."""
        try:
            self.value = self.call()
        except Exception as error:
            self.error = error

    def wait(self, seconds: float) -> bool:
        """Wait for the function to end, for at most so many seconds; returns whether it has ended."""
        self.join(seconds)
        return not self.is_alive()


def _trainer(
    job: TrainingJob, workers: WorkerSettings, buffer: Any, scratch: Path, nodes: list[Mapping[str, float]]
) -> Any:
    """What starts the workers, on the present Ray."""
    from ray.train import FailureConfig, ScalingConfig

    least, most = worker_range(workers)
    use_gpu, grows = bool(workers.gpus), not never_grows()
    return trainer(
        _on_a_worker,
        {
            "job": asdict(job),
            "buffer": buffer,
            "reaper": _reaper(),
            "cpus": workers.cpus,
            "use_gpu": use_gpu,
        },
        group=group_config(use_gpu=use_gpu, timeout=workers.timeout),
        scaling=ScalingConfig(
            num_workers=most if least == most else (least, most),
            use_gpu=use_gpu,
            resources_per_worker=worker_resources(workers),
        ),
        failures=FailureConfig(
            max_failures=workers.retries, controller_failure_limit=_start_retries(workers)
        ),
        environment=worker_environment(workers.gpus or 0, nodes, grows=grows),
        scratch=scratch,
        grows=grows,
    )


def _start_retries(workers: WorkerSettings) -> int:
    """How often workers that did not get their resources are placed anew; -1: for ever."""
    if workers.retries < 0:
        return -1
    return max(workers.retries, math.ceil(workers.timeout / workers.start_timeout) - 1)


def _reaper() -> Any:
    """The reaper that must know the workers' placement group; None: none ends this process without its Ray job."""
    import ray

    try:
        return ray.get_actor(REAPER)
    except ValueError:
        return None


def _on_a_worker(config: dict[str, Any]) -> dict[str, Any]:
    """Train on one worker: Ray calls it in each worker's process, after making the process group."""
    import ray.train
    import torch

    from cocite.training.engine.world import World

    raise_refusal()
    if not torch.cuda.is_available():
        # Ray counts cores and confines nobody to them: each worker would start a thread for every core.
        torch.set_num_threads(max(1, int(config["cpus"])))
    if config["reaper"] is not None and ray.train.get_context().get_world_rank() == 0:
        config["reaper"].watch.remote(config["buffer"], ray.util.get_current_placement_group())

    def report_checkpoint(step: int, metrics: Mapping[str, float]) -> None:
        ray.train.report({"step": step, **metrics})

    world, wishes, buffer = World.join(use_gpu=config["use_gpu"]), RayWishes(), config["buffer"]
    with stop_with_driver(wishes, buffer) if world.first else nullcontext():
        return run_worker(
            TrainingJob(**config["job"]), world, buffer.add.remote, report_checkpoint, wishes=wishes
        )


def _variables(workers: WorkerSettings) -> dict[str, str]:
    """Environment variables that configure Ray Train; those that the user has set stay as they are."""
    return {
        # Without it, ranks that do not report alike would wait for ever.
        "RAY_TRAIN_COLLECTIVE_TIMEOUT_S": f"{workers.timeout:g}",
        "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": f"{workers.start_timeout:g}",
        "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",  # a report waits for the next check
        "RAY_CHDIR_TO_TRIAL_DIR": "0",  # a recipe's relative paths mean the same on the workers
        # A process that asks whether a machine is about to be taken away; this machine alone is not.
        "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0" if never_grows() else "1",
    }


def _result(call: _BackgroundCall, workers: WorkerSettings) -> dict[str, Any]:
    """The result of rank 0; raises the error behind Ray's error, as a sentence where the user can do something."""
    if call.error is None:
        return dict(call.value.return_value)
    from ray.exceptions import RayError
    from ray.train import ControllerError, WorkerGroupError

    error = call.error
    if isinstance(error, ControllerError):
        cause = error.controller_failure
        if isinstance(cause, CociteError):
            raise cause from None
        if "Timeout" in type(cause).__name__:
            raise CociteError(
                f"the workers did not get their resources in {workers.start_timeout:g} s, "
                f"{_start_retries(workers) + 1} times",
                where="workers",
                hint="is the cluster busy? lower workers.count, or raise workers.timeout; then pass --resume",
            ) from error
        raise error
    if isinstance(error, WorkerGroupError):
        # A failure without an exception of its own is a worker that died.
        thrown = [failure for failure in error.worker_failures.values() if hasattr(failure, "_base_exc")]
        if thrown and len(thrown) == len(error.worker_failures):
            raise RuntimeError(f"a worker failed:\n{thrown[0]}") from None  # a defect: with its own traceback
        # What the others threw is mostly that they miss it; but it may say why.
        said = f"; another said: {str(thrown[0]).strip().splitlines()[-1]}" if thrown else ""
        raise CociteError(
            f"a worker died once more, after {workers.retries} retries{said}",
            where="workers",
            hint="out of memory? see to it, then pass --resume to go on from the last checkpoint",
        ) from error
    if isinstance(error, RayError):
        raise CociteError(
            f"the cluster was lost: {str(error).strip().splitlines()[0]}",
            where="workers",
            hint="pass --resume to go on from the last checkpoint",
        ) from error
    raise error

"""A training's workers on Ray: started, watched, started anew when one dies, and heard.

Checkpoints do not pass through Ray. The workers keep them themselves (:mod:`cocite_jobs.training.training_run`), each
there whole or not at all, and go on from the newest: one
that Ray's controller had not yet entered in its books when a worker died
counts too, and a killed driver or a full disk leaves no book to mend. Ray is told of each, for who listens to it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cocite.errors import CociteError
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.session import check_resources, connected, resources, workers_range
from cocite_jobs.training.progress import Event
from cocite_jobs.training.ray_actors import Journal, Warden
from cocite_jobs.training.worker import Order, work

LISTEN_S = 0.3
"""Seconds between two times that the workers' words are fetched."""
CLOSE_S = 30
"""Seconds for the last resources to be given back."""
WARDEN = "cocite-warden"
"""Name of the actor that gives back what ended trainings leave: see :func:`guarded`."""


@contextmanager
def guarded() -> Iterator[None]:
    """While the block runs, trainings on the present Ray may be ended by ending the process that called :func:`fit`.

    Without it their workers' resources would be held until the whole job ends.
    """
    import ray

    warden = ray.remote(num_cpus=0)(Warden).options(name=WARDEN).remote()
    try:
        yield
    finally:
        if ray.is_initialized():  # an interrupt may have ended it
            with suppress(ray.exceptions.RayError):
                ray.get(warden.close.remote(), timeout=CLOSE_S)
            ray.kill(warden)


def fit(
    order: Order,
    workers: WorkerSettings,
    hear: Callable[[Event], None],
    *,
    address: str | None = None,
    wait: bool = False,
    verbose: bool = False,
) -> dict[str, Any]:
    """Train on Ray; what was begun before goes on from its last checkpoint.

    Args:
        order: what to train.
        workers: by whom.
        hear: takes what rank 0 tells.
        address: of a running cluster, see :func:`cocite_jobs.cluster.session.connected`.
        wait: wait for resources that the cluster does not have yet.
        verbose: let Ray's own log through.

    Returns:
        what :func:`cocite_jobs.training.worker.work` returns on rank 0.

    Raises:
        CociteError: the cluster, the workers or the training failed in a way that its user can do something about.
    """
    workers_range(workers)
    hear(("stage", "starting Ray", 0))
    with connected(address, verbose=verbose) as scratch, _environment(_variables(workers)):
        import ray

        if not wait:
            check_resources(workers, [node["Resources"] for node in ray.nodes() if node["Alive"]])
        hear(("stage", "starting workers", 0))
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        journal = ray.remote(num_cpus=0, scheduling_strategy=here)(Journal).remote()
        answer = _Answer(lambda: _trainer(order, workers, journal, scratch / "train").fit())
        while True:
            over = answer.wait(LISTEN_S)
            for event in ray.get(journal.take.remote()):
                hear(event)
            if over:
                return _outcome(answer, workers)


class _Answer(threading.Thread):
    """Calls something beside the main thread, which stays free to listen, and to be interrupted."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.call = call
        self.value: Any = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        """In the thread."""
        try:
            self.value = self.call()
        except Exception as error:
            self.error = error

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after at most so many seconds."""
        self.join(seconds)
        return not self.is_alive()


def _trainer(order: Order, workers: WorkerSettings, journal: Any, scratch: Path) -> Any:
    from ray.train import FailureConfig, RunConfig, ScalingConfig, UserCallback
    from ray.train.torch import TorchConfig, TorchTrainer

    class Refusals(UserCallback):  # type: ignore[misc]
        """Ends a run at an error that would only come again; Ray would try as often as after a worker's death."""

        def after_exception(self, run_context: Any, worker_exceptions: Mapping[int, Exception]) -> None:  # noqa: ARG002
            for error in worker_exceptions.values():
                cause = getattr(error, "_base_exc", error)
                if isinstance(cause, CociteError):
                    raise cause

    least, most = workers_range(workers)
    return TorchTrainer(
        _on_a_worker,
        train_loop_config={
            "order": asdict(order),
            "journal": journal,
            "warden": _warden(),
            "cpus": workers.cpus,
        },
        torch_config=TorchConfig(timeout_s=int(workers.timeout)),
        scaling_config=ScalingConfig(
            num_workers=most if least == most else (least, most),
            use_gpu=workers.gpus > 0,
            resources_per_worker=resources(workers),
        ),
        run_config=RunConfig(
            name="training",
            storage_path=str(scratch),  # for Ray's own marks: nothing that is needed again
            failure_config=FailureConfig(
                max_failures=workers.retries, controller_failure_limit=max(workers.retries, 0)
            ),
            callbacks=[Refusals()],
        ),
    )


def _warden() -> Any:
    """Who is told where the workers are; None: the caller's end is the job's."""
    import ray

    try:
        return ray.get_actor(WARDEN)
    except ValueError:
        return None


def _on_a_worker(config: dict[str, Any]) -> dict[str, Any]:
    """What Ray runs on each worker, in the process group that it has made."""
    import ray.train
    import torch

    from cocite.training.engine.world import World

    if not torch.cuda.is_available():
        torch.set_num_threads(max(1, int(config["cpus"])))
    if config["warden"] is not None and ray.train.get_context().get_world_rank() == 0:
        config["warden"].watch.remote(config["journal"], ray.util.get_current_placement_group())

    def saved(step: int, metrics: Mapping[str, float]) -> None:
        ray.train.report({"step": step, **metrics})

    return work(Order(**config["order"]), World.join(), config["journal"].tell.remote, saved)


def _variables(workers: WorkerSettings) -> dict[str, str]:
    """What Ray Train is told through the environment, unless the user has said otherwise there."""
    seconds = f"{workers.timeout:g}"
    return {
        "RAY_TRAIN_COLLECTIVE_TIMEOUT_S": seconds,  # else ranks that do not report alike wait for ever
        "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": seconds,
        "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",  # a report waits for the next check
        "RAY_CHDIR_TO_TRIAL_DIR": "0",  # a recipe's relative paths mean the same on the workers
    }


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    new = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)


def _outcome(answer: _Answer, workers: WorkerSettings) -> dict[str, Any]:
    """The value of rank 0, or the error behind the error, in a sentence where it is one for the user."""
    if answer.error is None:
        return dict(answer.value.return_value)
    from ray.exceptions import RayError
    from ray.train import ControllerError, WorkerGroupError

    error = answer.error
    if isinstance(error, ControllerError):
        cause = error.controller_failure
        if isinstance(cause, CociteError):
            raise cause from None
        if "Timeout" in type(cause).__name__:
            raise CociteError(
                f"the workers did not get their resources in {workers.timeout:g} s",
                where="workers",
                hint="is the cluster busy? lower workers.count, or raise workers.timeout; then pass --resume",
            ) from error
        raise error
    if isinstance(error, WorkerGroupError):
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

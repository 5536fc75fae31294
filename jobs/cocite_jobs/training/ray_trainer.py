"""Ray Train's trainer as cocite uses it: no process is started that a training here has no use for.

Each process that Ray Train starts beside the workers imports modules for seconds, before the workers start or while
they do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cocite.errors import CociteError

UNUSED = ("DatasetsCallback", "PlacementGroupCleanerCallback")
"""Classes of Ray Train, each of which would start a process: one for data sets, of which there are none, and one that
needs a dashboard; :func:`~cocite_jobs.training.on_ray.reap_placement_groups` stands in for it."""


def trainer(
    work: Callable[[dict[str, Any]], Any],
    config: dict[str, Any],
    *,
    group: Any,
    scaling: Any,
    failures: Any,
    environment: dict[str, Any],
    scratch: Path,
    grows: bool,
) -> Any:
    """A trainer of Ray Train, whose ``fit`` has each worker do the work.

    Args:
        work: called by each worker with ``config``.
        config: plain values and handles of actors.
        group: see :func:`~cocite_jobs.training.torch_workers.group_config`.
        scaling, failures: Ray Train's ``ScalingConfig`` and ``FailureConfig``.
        environment: the workers' ``runtime_env``.
        scratch: folder for Ray Train's own files, which nothing needs again.
        grows: whether machines may join this Ray, which are asked for where the workers find no room.
    """
    from ray.train import RunConfig, UserCallback
    from ray.train.v2._internal.execution.scaling_policy import FixedScalingPolicy
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    class Refusals(UserCallback):  # type: ignore[misc]
        """Ends a run at an error that would only come again; Ray would try as often as after a worker's death."""

        def after_exception(self, run_context: Any, worker_exceptions: Mapping[int, Exception]) -> None:  # noqa: ARG002
            for error in worker_exceptions.values():
                # Ray wraps what a worker raises.
                cause = getattr(error, "_base_exc", error)
                if isinstance(cause, CociteError):
                    raise cause

    class OneMachine(FixedScalingPolicy):  # type: ignore[misc]
        """Asks nobody for machines; the usual policy first starts a process that does."""

        def after_controller_start(self, train_run_context: Any) -> None:
            pass

        def _maybe_send_resource_request(self) -> None:
            pass

    class Trainer(DataParallelTrainer):  # type: ignore[misc]
        """Starts the workers, and the processes that are needed for them."""

        def _create_default_callbacks(self) -> list[Any]:
            callbacks: list[Any] = super()._create_default_callbacks()
            return [callback for callback in callbacks if type(callback).__name__ not in UNUSED]

        def _initialize_and_run_controller(self, **parts: Any) -> Any:
            if not grows and isinstance(parts["scaling_policy"], FixedScalingPolicy):
                parts["scaling_policy"] = OneMachine(self.scaling_config)
            return super()._initialize_and_run_controller(**parts)

    return Trainer(
        work,
        train_loop_config=config,
        backend_config=group,
        scaling_config=scaling,
        run_config=RunConfig(
            name="training",
            storage_path=str(scratch),
            failure_config=failures,
            callbacks=[Refusals()],
            worker_runtime_env=environment,
        ),
    )

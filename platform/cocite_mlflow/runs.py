"""One MLflow run: its metrics, parameters, tags, files and child runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cocite.errors import CociteError, InputError
from cocite_mlflow.connection import (
    TrackingSettings,
    artifact_location,
    connect,
    translate_write_errors,
    writable_uri,
)
from cocite_mlflow.values import metric_entities, mlflow_metrics, mlflow_params, param_batches

PARENT = "mlflow.parentRunId"
"""Tag by which MLflow knows the run that another belongs to."""


@dataclass(frozen=True)
class MlflowRun:
    """A run in progress. Without tracking every method does nothing.

    Attributes:
        id: MLflow's id of the run, empty without tracking.
        uri: the store that holds it, empty without tracking.
        experiment: id of the group of runs it belongs to.
        logged_steps: the last step of each metric that this run logged before it was resumed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tracking = TrackingSettings(folder=folder)
        ...     with start_run("sweep", experiment="docs", tracking=tracking) as run:
        ...         trial = run.start_child("trial 1", {"rate": 0.1})
        ...         trial.log_metrics({"R@10": 0.25}, step=1)
        ...         trial.end()
        ...         list(run.child_ids())
        ['trial 1']
        >>> MlflowRun().log_metrics({"R@10": 0.25})  # nothing is tracked
    """

    id: str = ""
    uri: str = ""
    experiment: str = ""
    logged_steps: Mapping[str, int] = field(default_factory=dict)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log some metrics; of a resumed run, those of steps that it has not logged yet.

        Values that are not finite numbers are left out, for a store cannot compare them.
        """
        new = mlflow_metrics(metrics)
        if step is not None:
            new = {name: value for name, value in new.items() if step > self.logged_steps.get(name, -1)}
        if self.id and new:
            with translate_write_errors(self.uri):
                connect(self.uri).log_batch(self.id, metrics=metric_entities(new, step))

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Log some parameters; nested ones as ``outer.inner``."""
        if not self.id:
            return
        client = connect(self.uri)
        with translate_write_errors(self.uri):
            for batch in param_batches(mlflow_params(params)):
                client.log_batch(self.id, params=batch)

    def set_tag(self, name: str, value: str) -> None:
        """Set a label."""
        if self.id:
            with translate_write_errors(self.uri):
                connect(self.uri).set_tag(self.id, name, value)

    def log_artifact(self, path: str | Path, *, folder: str | None = None) -> None:
        """Copy a file, or a folder with all that is in it, into the store.

        Args:
            path: what is copied.
            folder: where it goes among the run's files; by default a folder keeps its name, and a file goes on top.

        Raises:
            InputError: there is no such file or folder.
        """
        if not self.id:
            return
        client, path = connect(self.uri), Path(path)
        if not path.exists():
            raise InputError("no such file or folder to keep", where=str(path))
        with translate_write_errors(self.uri):
            if path.is_dir():
                client.log_artifacts(self.id, str(path), folder or path.name)
            else:
                client.log_artifact(self.id, str(path), folder)

    def start_child(
        self, name: str, params: Mapping[str, Any], *, tags: Mapping[str, str] | None = None, resume: str = ""
    ) -> MlflowRun:
        """Start a run within this one; the caller ends it, see :meth:`end`.

        Args:
            name: of the child.
            params: its parameters.
            tags: further labels.
            resume: id of an earlier child to continue (:meth:`child_ids`); one with other parameters is replaced.
        """
        if not self.id:
            return MlflowRun()
        client = connect(self.uri)
        with translate_write_errors(self.uri):
            if resume and client.get_run(resume).data.params == mlflow_params(params):
                return _reopen(client, resume, self.uri) or MlflowRun()
            if resume:
                client.delete_run(resume)
            experiment = self._experiment_id(client)
            created = client.create_run(experiment, run_name=name, tags={PARENT: self.id, **(tags or {})})
        child = MlflowRun(created.info.run_id, self.uri, experiment)
        child.log_params(params)
        return child

    def child_ids(self) -> dict[str, str]:
        """Name -> id of the runs within this one."""
        if not self.id:
            return {}
        client, token = connect(self.uri), None
        ids: dict[str, str] = {}
        with translate_write_errors(self.uri):
            experiment = self._experiment_id(client)
            while True:
                page = client.search_runs([experiment], f"tags.`{PARENT}` = '{self.id}'", page_token=token)
                ids |= {run.info.run_name: run.info.run_id for run in page}
                token = page.token
                if not token:
                    return ids

    def end(self, status: Literal["FINISHED", "FAILED", "KILLED"] = "FINISHED") -> None:
        """Close the run."""
        if self.id:
            with translate_write_errors(self.uri):
                connect(self.uri).set_terminated(self.id, status)

    def _experiment_id(self, client: Any) -> str:
        return self.experiment or str(client.get_run(self.id).info.experiment_id)


@contextmanager
def start_run(
    name: str,
    *,
    experiment: str,
    params: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
    tracking: TrackingSettings | None = None,
    resume: str = "",
) -> Iterator[MlflowRun]:
    """A run that is finished when the body ends, failed when it raises, killed when it is interrupted.

    Args:
        name: of the run.
        experiment: the group of runs it belongs to; made when there is none.
        params: its parameters; nested mappings become ``outer.inner``.
        tags: further labels, such as the corpus' version.
        tracking: where it is logged.
        resume: id of an earlier run to continue, if the store has it; its parameters stay.
    """
    tracking = tracking or TrackingSettings()
    if not tracking.enabled:
        yield MlflowRun()
        return
    uri = writable_uri(tracking)
    client = connect(uri)
    earlier = _reopen(client, resume, uri) if resume else None
    if earlier is None:
        experiment_id = _experiment(client, experiment, tracking, uri)
        with translate_write_errors(uri):
            created = client.create_run(experiment_id, run_name=name, tags=dict(tags or {}))
    run = earlier or MlflowRun(created.info.run_id, uri, experiment_id)
    try:
        if earlier is None:
            run.log_params(params or {})
        yield run
    except BaseException as error:
        # What ended the run is worth more to the user than what keeps its end from being recorded.
        with suppress(CociteError):
            run.end("KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED")
        raise
    run.end("FINISHED")


def _reopen(client: Any, id_: str, uri: str) -> MlflowRun | None:
    """An earlier run, running again; None: the store does not have it."""
    from mlflow.exceptions import MlflowException

    try:
        client.update_run(id_, status="RUNNING")
    except MlflowException:
        return None
    with translate_write_errors(uri):
        run = client.get_run(id_)
        steps = {
            name: max(point.step for point in client.get_metric_history(id_, name))
            for name in run.data.metrics
        }
    return MlflowRun(id_, uri, run.info.experiment_id, steps)


def _experiment(client: Any, name: str, tracking: TrackingSettings, uri: str) -> str:
    """Id of an experiment, which is made when there is none."""
    with translate_write_errors(uri):
        known = client.get_experiment_by_name(name)
        if known is not None:
            return str(known.experiment_id)
        return str(client.create_experiment(name, artifact_location=artifact_location(tracking, name)))

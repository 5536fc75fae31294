"""Runs and models in MLflow: SQLite in a folder unless ``MLFLOW_TRACKING_URI`` names a server.

Models are registered as plain artifacts (safetensors, JSON, text): no flavour, hence no pickle.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cocite.bounds import FilePath
from cocite.config import Settings, flat
from cocite.destinations import check_folder_destination
from cocite.errors import CociteError, InputError
from cocite.locks import locked
from cocite.verification import open_verified
from cocite.write_errors import writing_to

PARAM_LIMIT = 6000
"""Longest value of a parameter, in characters: what MLflow takes."""
PARAMS_AT_ONCE = 100
"""Parameters in one request: what MLflow takes."""
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
"""Set before MLflow is imported; what the environment says already wins."""
SQLITE = "sqlite:///"
DATABASE = "mlflow.db"
ELSEWHERE = "name another store: MLFLOW_TRACKING_URI; or keep no runs: --no-track"
"""What to do where a store cannot be used."""
PARENT = "mlflow.parentRunId"
"""Tag by which MLflow knows the run that another belongs to."""


class Tracking(Settings):
    """Where runs are kept."""

    folder: FilePath = Path(".")
    """Holds ``mlflow.db`` and ``mlartifacts/``, unless ``MLFLOW_TRACKING_URI`` names another store."""
    enabled: bool = True
    """Whether runs are kept at all."""


@dataclass(frozen=True)
class Run:
    """A run in progress. Without tracking every method does nothing.

    Attributes:
        id: MLflow's id of the run, empty without tracking.
        uri: the store it is kept in, empty without tracking.
        experiment: id of the group of runs it belongs to.
        before: the last step of each metric that this run kept before it was resumed.
    """

    id: str = ""
    uri: str = ""
    experiment: str = ""
    before: Mapping[str, int] = field(default_factory=dict)

    def log(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Keep some metrics, those of a resumed run's earlier steps once.

        Values that are not finite numbers are left out, for a store cannot compare them.
        """
        finite = {_key(name): float(value) for name, value in metrics.items() if math.isfinite(value)}
        if step is not None:
            finite = {name: value for name, value in finite.items() if step > self.before.get(name, -1)}
        if self.id and finite:
            with _told(self.uri):
                _client(self.uri).log_batch(self.id, metrics=_metrics(finite, step))

    def param(self, params: Mapping[str, Any]) -> None:
        """Keep some parameters; nested ones as ``outer.inner``."""
        if not self.id:
            return
        from mlflow.entities import Param

        client = _client(self.uri)
        kept = [Param(name, value) for name, value in _params(params).items()]
        with _told(self.uri):
            for start in range(0, len(kept), PARAMS_AT_ONCE):
                client.log_batch(self.id, params=kept[start : start + PARAMS_AT_ONCE])

    def tag(self, name: str, value: str) -> None:
        """Set a label."""
        if self.id:
            with _told(self.uri):
                _client(self.uri).set_tag(self.id, name, value)

    def artifact(self, path: str | Path, *, folder: str | None = None) -> None:
        """Keep a file, or a folder with all that is in it."""
        if not self.id:
            return
        client, path = _client(self.uri), Path(path)
        if not path.exists():
            raise InputError("no such file or folder to keep", where=str(path))
        with _told(self.uri):
            if path.is_dir():
                client.log_artifacts(self.id, str(path), folder or path.name)
            else:
                client.log_artifact(self.id, str(path), folder)

    def child(
        self, name: str, params: Mapping[str, Any], *, tags: Mapping[str, str] | None = None, resume: str = ""
    ) -> Run:
        """Begin a run within this one; who begins it ends it, see :meth:`end`.

        Args:
            name: of the child.
            params: what it is done with.
            tags: further labels.
            resume: id of a child to go on with (:meth:`children`); one that was done with other parameters is
                replaced.
        """
        if not self.id:
            return Run()
        client = _client(self.uri)
        with _told(self.uri):
            if resume and client.get_run(resume).data.params == _params(params):
                return _reopened(client, resume, self.uri) or Run()
            if resume:
                client.delete_run(resume)
            experiment = self.experiment or client.get_run(self.id).info.experiment_id
            created = client.create_run(experiment, run_name=name, tags={PARENT: self.id, **(tags or {})})
        child = Run(created.info.run_id, self.uri, experiment)
        child.param(params)
        return child

    def children(self) -> dict[str, str]:
        """Name -> id of the runs within this one."""
        if not self.id:
            return {}
        client, token = _client(self.uri), None
        found: dict[str, str] = {}
        with _told(self.uri):
            experiment = self.experiment or client.get_run(self.id).info.experiment_id
            while True:
                page = client.search_runs([experiment], f"tags.`{PARENT}` = '{self.id}'", page_token=token)
                found |= {run.info.run_name: run.info.run_id for run in page}
                token = page.token
                if not token:
                    return found

    def end(self, status: Literal["FINISHED", "FAILED", "KILLED"] = "FINISHED") -> None:
        """Close the run."""
        if self.id:
            with _told(self.uri):
                _client(self.uri).set_terminated(self.id, status)


@contextmanager
def run(
    name: str,
    *,
    experiment: str,
    params: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
    tracking: Tracking | None = None,
    resume: str = "",
) -> Iterator[Run]:
    """A run that is finished when the body ends, failed when it raises, killed when it is interrupted.

    Args:
        name: of the run.
        experiment: the group of runs it belongs to; made when there is none.
        params: what it was done with; nested mappings become ``outer.inner``.
        tags: further labels, such as the corpus' version.
        tracking: where it is kept.
        resume: id of an earlier run to go on with, if the store has it; its parameters stay.
    """
    tracking = tracking or Tracking()
    if not tracking.enabled:
        yield Run()
        return
    uri = _uri(tracking)
    client = _client(uri)
    earlier = _reopened(client, resume, uri) if resume else None
    if earlier is None:
        experiment_id = _experiment(client, experiment, tracking, uri)
        with _told(uri):
            created = client.create_run(experiment_id, run_name=name, tags=dict(tags or {}))
    current = earlier or Run(created.info.run_id, uri, experiment_id)
    try:
        if earlier is None:
            current.param(params or {})
        yield current
    except BaseException as error:
        # What ended the run says more than what keeps its end from being recorded.
        with suppress(CociteError):
            current.end("KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED")
        raise
    current.end("FINISHED")


def register(
    folder: str | Path, name: str, alias: str, *, tracking: Tracking | None = None, run: Run | None = None
) -> int:
    """Register a model folder as the next version of a name, and point an alias at it.

    Every file of every artifact of the folder is compared with its SHA-256 before a byte is copied.

    Returns:
        The version.
    """
    folder = Path(folder)
    parts = [path for path in [folder, *sorted(folder.glob("*"))] if (path / "manifest.json").is_file()]
    if not parts:
        raise InputError("holds no model", where=str(folder), hint="name a model folder")
    kinds = {str(path.relative_to(folder)): open_verified(path) for path in parts}
    if run is None or not run.id:
        with _open_run(name, tracking) as opened:
            return register(folder, name, alias, run=opened)
    client = _client(run.uri)
    for path in sorted(folder.glob("*")):
        if not path.name.startswith("."):  # what an unfinished training keeps beside the model
            run.artifact(path, folder=f"model/{path.name}" if path.is_dir() else "model")
    with _told(run.uri):
        _registered(client, name)
        source = f"{client.get_run(run.id).info.artifact_uri.rstrip('/')}/model"
        tags = {f"artifact.{part}": f"{manifest.kind} {manifest.digest}" for part, manifest in kinds.items()}
        version = client.create_model_version(name, source, run.id, tags=tags)
        client.set_registered_model_alias(name, alias, version.version)
    return int(version.version)


def version(name: str, alias: str, *, tracking: Tracking | None = None) -> int | None:
    """The version of a registered model that an alias points at; None: there is none."""
    from mlflow.exceptions import MlflowException

    try:
        return int(_client(_uri(tracking or Tracking())).get_model_version_by_alias(name, alias).version)
    except MlflowException as error:
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):  # no model; no alias
            return None
        raise CociteError(f"MLflow: {str(error).splitlines()[0]}") from error


def fetch(name: str, alias: str, to: str | Path, *, tracking: Tracking | None = None) -> Path:
    """Copy the model folder that an alias points at to ``to/model``; returns its path."""
    import mlflow

    uri = _uri(tracking or Tracking())
    with _told(uri), writing_to(to):
        version = _client(uri).get_model_version_by_alias(name, alias)
        return Path(
            mlflow.artifacts.download_artifacts(
                artifact_uri=version.source, dst_path=str(to), tracking_uri=uri
            )
        )


def _open_run(name: str, tracking: Tracking | None) -> Any:
    if tracking is not None and not tracking.enabled:
        raise InputError("a model is registered in MLflow: tracking must not be off")
    return run(name, experiment="models", tracking=tracking)


def _uri(tracking: Tracking) -> str:
    given = os.environ.get("MLFLOW_TRACKING_URI")
    if given:
        return given
    check_folder_destination(tracking.folder)
    return f"{SQLITE}{tracking.folder.resolve() / DATABASE}"


def _client(uri: str) -> Any:
    """MLflow's client. The import takes seconds, so it waits until something is to be kept."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient

    logging.getLogger("mlflow.store.db").setLevel(logging.WARNING)  # it tells that it makes its tables
    with _told(uri), _new_database(uri) as is_new:
        client = MlflowClient(uri, uri)
        if is_new:
            client.search_experiments(max_results=1)  # makes the tables
        return client


@contextmanager
def _new_database(uri: str) -> Iterator[bool]:
    """Let the block make MLflow's tables, where the store is a new SQLite file; yields whether it is one.

    Of two processes that make them at the same time one would fail, and with half of its tables, as a full disk leaves
    it, MLflow would never open the file again.
    """
    path = Path(uri.removeprefix(SQLITE))
    lock = path.with_name(f".{path.name}.lock")  # there while tables are made
    if not uri.startswith(SQLITE) or (path.exists() and not lock.exists()):
        yield False
        return
    with locked(lock, wait=True):
        is_new = not path.exists()
        try:
            yield is_new
        except BaseException:
            if is_new:
                path.unlink(missing_ok=True)
                path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
            raise


@contextmanager
def _told(uri: str) -> Iterator[None]:
    """MLflow's own errors, and those of the disk that it writes to, as a sentence."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    folder = str(Path(uri.removeprefix(SQLITE)).parent) if uri.startswith(SQLITE) else uri
    try:
        with writing_to(folder, hint=f"MLflow keeps its runs there: make room, or {ELSEWHERE}"):
            yield
    except (MlflowException, SQLAlchemyError) as error:
        raise CociteError(
            f"MLflow: {str(error).splitlines()[0]}", where=uri.removeprefix(SQLITE), hint=ELSEWHERE
        ) from error


def _reopened(client: Any, id_: str, uri: str) -> Run | None:
    """An earlier run, running again; None: the store does not have it."""
    from mlflow.exceptions import MlflowException

    try:
        client.update_run(id_, status="RUNNING")
    except MlflowException:
        return None
    with _told(uri):
        run = client.get_run(id_)
        steps = {n: max(m.step for m in client.get_metric_history(id_, n)) for n in run.data.metrics}
    return Run(id_, uri, run.info.experiment_id, steps)


def _experiment(client: Any, name: str, tracking: Tracking, uri: str) -> str:
    with _told(uri):
        found = client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        # A local store keeps its files beside its database; a server knows where it keeps them.
        local = uri.startswith("sqlite:") and "MLFLOW_TRACKING_URI" not in os.environ
        place = (tracking.folder.resolve() / "mlartifacts" / name).as_uri() if local else None
        return str(client.create_experiment(name, artifact_location=place))


def _registered(client: Any, name: str) -> None:
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise


def _metrics(values: Mapping[str, float], step: int | None) -> list[Any]:
    import time

    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    return [Metric(name, value, now, step or 0) for name, value in values.items()]


def _params(values: Mapping[str, Any]) -> dict[str, str]:
    """Parameters as the store has them."""
    return {_key(name): str(value)[:PARAM_LIMIT] for name, value in flat(values).items()}


def _key(name: str) -> str:
    """A name that MLflow takes: ``R@10`` becomes ``R_at_10``, other strange characters a dash."""
    kept = name.replace("@", "_at_").replace(">=", "ge").replace("+", "plus")
    return "".join(c if c.isalnum() or c in "_-./ " else "-" for c in kept)

"""Finds the MLflow store that is meant, makes its client, and turns its errors into sentences.

The store is SQLite in a folder unless ``MLFLOW_TRACKING_URI`` names another one.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cocite.bounds import FilePath
from cocite.config import Settings
from cocite.destinations import check_folder_destination
from cocite.errors import CociteError, NotFoundError, without_passwords
from cocite.locks import locked
from cocite.write_errors import writing_to

URI_VARIABLE = "MLFLOW_TRACKING_URI"
"""Environment variable that names the store, whatever a folder says."""
SQLITE = "sqlite:///"
DATABASE = "mlflow.db"
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
"""Set before MLflow is imported; what the environment already says wins."""
FAIL_EARLY = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}
"""Set besides for readers, which can ask again later: by default MLflow retries a server that is gone for minutes."""
OTHER_STORE = f"name another store: {URI_VARIABLE}; or keep no runs: --no-track"
"""What to do where a store cannot be used."""


class TrackingSettings(Settings):
    """Where runs are logged.

    Example:
        >>> settings = TrackingSettings(folder=Path("runs"))
        >>> tracking_uri(settings.folder).endswith("/runs/mlflow.db")
        True
        >>> TrackingSettings(enabled=False).enabled  # runs of this process are not logged
        False
    """

    folder: FilePath = Path(".")
    """Holds ``mlflow.db`` and ``mlartifacts/``, unless ``MLFLOW_TRACKING_URI`` names another store."""
    enabled: bool = True
    """Whether runs are logged at all."""


def tracking_uri(folder: Path) -> str:
    """The store's address: the environment's if it has one, else that of the SQLite file in a folder."""
    return os.environ.get(URI_VARIABLE) or f"{SQLITE}{folder.resolve() / DATABASE}"


def writable_uri(settings: TrackingSettings) -> str:
    """The store's address.

    Raises:
        InputError: the store is a folder that cannot be written to.
    """
    if not os.environ.get(URI_VARIABLE):
        check_folder_destination(settings.folder)
    return tracking_uri(settings.folder)


def artifact_location(settings: TrackingSettings, experiment: str) -> str | None:
    """The place of a new experiment's files; None: the store decides.

    A local store keeps its files beside its database; a server knows where it keeps them.
    """
    if os.environ.get(URI_VARIABLE):
        return None
    return (settings.folder.resolve() / "mlartifacts" / experiment).as_uri()


def connect(uri: str) -> Any:
    """MLflow's client of a store to write to; a SQLite file that is missing is made, with MLflow's tables.

    The import of MLflow takes seconds, so it waits until a store is needed.
    """
    MlflowClient = _import_client(QUIET)
    logging.getLogger("mlflow.store.db").setLevel(logging.WARNING)  # it logs each table that it makes
    with translate_write_errors(uri), _new_database(uri) as is_new:
        client = MlflowClient(uri, uri)
        if is_new:
            client.search_experiments(max_results=1)  # makes the tables
        return client


def connect_to_existing(uri: str, *, hint: str) -> Any:
    """MLflow's client of a store to read from.

    Args:
        uri: the store.
        hint: what the user can do where there is none.

    Raises:
        NotFoundError: the store is a SQLite file that does not exist. MLflow would make an empty one.
        CociteError: the store cannot be reached.
    """
    path = uri.removeprefix(SQLITE)
    if path != uri and not Path(path).is_file():
        raise NotFoundError("no MLflow store", where=path, hint=hint)
    MlflowClient = _import_client(QUIET | FAIL_EARLY)
    with translate_read_errors(uri):
        return MlflowClient(uri, uri)


def _import_client(environment: Mapping[str, str]) -> Any:
    for name, value in environment.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient

    return MlflowClient


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
    # Of two processes that make the tables of one file at once, one would find them half made, and fail.
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
def translate_write_errors(uri: str) -> Iterator[None]:
    """Raise MLflow's errors, its database's, and those of the disk it writes to as a :class:`CociteError`."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    folder = str(Path(uri.removeprefix(SQLITE)).parent) if uri.startswith(SQLITE) else without_passwords(uri)
    try:
        with writing_to(folder, hint=f"MLflow keeps its runs there: make room, or {OTHER_STORE}"):
            yield
    except (MlflowException, SQLAlchemyError) as error:
        where = without_passwords(uri.removeprefix(SQLITE))
        raise CociteError(f"MLflow: {_first_line(error)}", where=where, hint=OTHER_STORE) from error


@contextmanager
def translate_read_errors(uri: str) -> Iterator[None]:
    """Raise whatever the store raises as a :class:`CociteError`: its database and network have errors of their own."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except CociteError:
        raise
    except MlflowException as error:
        raise CociteError(f"MLflow: {_first_line(error)}", where=without_passwords(uri)) from error
    except Exception as error:
        text = f"the MLflow store cannot be read: {_first_line(error)}"
        raise CociteError(text, where=without_passwords(uri)) from error


def _first_line(error: Exception) -> str:
    return without_passwords((str(error).splitlines() or [type(error).__name__])[0])

"""Registers a model folder as the next version of a name.

Each version has a tag ``artifact.NAME`` for each artifact of the folder, with the artifact's kind and fingerprint: a
download is compared with them (:mod:`cocite_mlflow.registry`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from cocite.errors import InputError
from cocite.manifests import MANIFEST, Manifest
from cocite.verification import open_verified
from cocite_mlflow.connection import TrackingSettings, connect, translate_write_errors
from cocite_mlflow.runs import MlflowRun, start_run

ARTIFACT_TAG = "artifact."
"""Prefix of the tags that name a version's artifacts."""


def register_model(
    folder: str | Path,
    name: str,
    alias: str,
    *,
    tracking: TrackingSettings | None = None,
    run: MlflowRun | None = None,
) -> int:
    """Register a model folder as the next version of a name, and point an alias at it.

    Every file of every artifact of the folder is compared with its SHA-256 before a byte is copied.

    Args:
        folder: an artifact, or a folder of artifacts.
        name: of the registered model; made when there is none.
        alias: points at the new version from now on.
        tracking: where the model is registered, when no run is given.
        run: the run that the version belongs to; by default one of its own, in the experiment ``models``.

    Returns:
        The version.

    Raises:
        InputError: the folder holds no artifact, or tracking is off.
        IntegrityError: a file is damaged.

    Example:
        >>> import tempfile
        >>> from cocite.artifacts import publish
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with publish(Path(folder, "model", "nnselect"), kind="nnselect", meta={}) as artifact:
        ...         _ = (artifact / "weights.txt").write_text("0.5")
        ...     tracking = TrackingSettings(folder=folder)
        ...     for _ in range(2):
        ...         register_model(Path(folder, "model"), "ranker", "champion", tracking=tracking)
        1
        2
    """
    folder = Path(folder)
    artifacts = artifact_folders(folder)
    if not artifacts:
        raise InputError("holds no model", where=str(folder), hint="name a model folder")
    manifests = {part: open_verified(path) for part, path in artifacts.items()}
    if run is None or not run.id:
        with _own_run(name, tracking) as own:
            return register_model(folder, name, alias, run=own)
    client = connect(run.uri)
    for path in sorted(folder.glob("*")):
        if not path.name.startswith("."):  # what an unfinished training keeps beside the model
            run.log_artifact(path, folder=f"model/{path.name}" if path.is_dir() else "model")
    with translate_write_errors(run.uri):
        _make_name(client, name)
        source = f"{client.get_run(run.id).info.artifact_uri.rstrip('/')}/model"
        # The files are there first: a version is whole, whenever this is interrupted.
        version = client.create_model_version(name, source, run.id, tags=artifact_tags(manifests))
        client.set_registered_model_alias(name, alias, version.version)
    return int(version.version)


def artifact_folders(folder: Path) -> dict[str, Path]:
    """Name -> folder of each artifact of a model folder; ``.`` is the folder itself where it is an artifact."""
    paths = [folder, *sorted(path for path in folder.glob("*") if not path.name.startswith("."))]
    return {str(path.relative_to(folder)): path for path in paths if (path / MANIFEST).is_file()}


def artifact_tags(manifests: Mapping[str, Manifest]) -> dict[str, str]:
    """The tags of a version whose artifacts have these manifests."""
    return {
        f"{ARTIFACT_TAG}{part}": f"{manifest.kind} {manifest.digest}" for part, manifest in manifests.items()
    }


def _own_run(name: str, tracking: TrackingSettings | None) -> AbstractContextManager[MlflowRun]:
    if tracking is not None and not tracking.enabled:
        raise InputError("a model is registered in MLflow: tracking must not be off")
    return start_run(name, experiment="models", tracking=tracking)


def _make_name(client: Any, name: str) -> None:
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise

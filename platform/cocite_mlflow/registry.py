"""Looks registered models up and downloads them; every file of a download is verified before it is used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.artifacts import verify
from cocite.errors import CociteError, IntegrityError, NotFoundError, nearest, without_passwords
from cocite.write_errors import writing_to
from cocite_mlflow.connection import (
    TrackingSettings,
    connect,
    connect_to_existing,
    translate_read_errors,
    translate_write_errors,
    writable_uri,
)
from cocite_mlflow.references import ModelReference, ModelVersion
from cocite_mlflow.registration import ARTIFACT_TAG, artifact_folders, artifact_tags

NOT_THERE = "RESOURCE_DOES_NOT_EXIST"
"""MLflow's code for a model or version that it does not have."""


@dataclass(frozen=True)
class ModelRegistry:
    """The registered models of an MLflow store, for readers: no store is made, and one that is gone fails early.

    Args:
        uri: of the store.
        hint: what the user can do where there is no such store.

    Example:
        >>> import tempfile
        >>> from cocite.artifacts import publish
        >>> from cocite_mlflow.connection import tracking_uri
        >>> from cocite_mlflow.registration import register_model
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with publish(Path(folder, "model", "nnselect"), kind="nnselect", meta={}) as artifact:
        ...         _ = (artifact / "weights.txt").write_text("0.5")
        ...     tracking = TrackingSettings(folder=folder)
        ...     _ = register_model(Path(folder, "model"), "ranker", "champion", tracking=tracking)
        ...     registry = ModelRegistry(tracking_uri(Path(folder)))
        ...     version = registry.resolve(ModelReference("ranker", alias="champion"))
        ...     copy = registry.download(version, Path(folder, "copy"))
        ...     print(version, sorted(path.name for path in copy.iterdir()))
        ranker version 1 (@champion) ['nnselect']
    """

    uri: str
    hint: str = "name it by MLFLOW_TRACKING_URI"

    def resolve(self, reference: ModelReference) -> ModelVersion:
        """The version that a reference leads to now.

        Raises:
            NotFoundError: there is no such model, alias or version.
            CociteError: the store cannot be read.
        """
        name, alias = reference.name, reference.alias
        model = self._model(reference)
        if alias is None:
            self._entity(reference, int(reference.version or 0))
            return ModelVersion(name, int(reference.version or 0))
        if alias not in model.aliases:
            hint = nearest(alias, model.aliases) if model.aliases else "it has no alias yet"
            raise NotFoundError(f"{name} has no alias {alias!r}", where=str(reference), hint=hint)
        return ModelVersion(name, int(model.aliases[alias]), alias)

    def identity(self, version: ModelVersion) -> str:
        """A text that no other model has: a name that was deleted and given again is another model.

        So is a model of the same name in another store.
        """
        return f"{self.uri} {version.name} {self._model(version.reference).creation_timestamp}"

    def artifact_tags(self, version: ModelVersion) -> dict[str, str]:
        """The tags of a version that say which artifacts were registered, see :mod:`cocite_mlflow.registration`."""
        return _artifact_tags_of(self._entity(version.reference, version.version))

    def download(self, version: ModelVersion, to: Path) -> Path:
        """Copy a version's model folder into the folder ``to`` and verify it.

        Returns:
            The copy's path, below ``to``.

        Raises:
            IntegrityError: the copy is not what was registered.
            CociteError: the store cannot be read.
        """
        entity = self._entity(version.reference, version.version)
        with translate_read_errors(self.uri):
            folder = _download(entity, to, self.uri)
        verify_model(folder, _artifact_tags_of(entity), version.reference)
        return folder

    def _model(self, reference: ModelReference) -> Any:
        """MLflow's entity of a registered model."""
        from mlflow.exceptions import MlflowException

        client = self._client()
        with translate_read_errors(self.uri):
            try:
                return client.get_registered_model(reference.name)
            except MlflowException as error:
                if error.error_code != NOT_THERE:
                    raise
            names = [model.name for model in client.search_registered_models()]
        hint = nearest(reference.name, names) if names else "none is registered there"
        raise NotFoundError(f"no registered model {reference.name!r}", where=str(reference), hint=hint)

    def _entity(self, reference: ModelReference, version: int) -> Any:
        """MLflow's entity of a version."""
        from mlflow.exceptions import MlflowException

        client = self._client()
        with translate_read_errors(self.uri):
            try:
                return client.get_model_version(reference.name, str(version))
            except MlflowException as error:
                if error.error_code != NOT_THERE:
                    raise
        raise NotFoundError(f"{reference.name} has no version {version}", where=str(reference))

    def _client(self) -> Any:
        return connect_to_existing(self.uri, hint=self.hint)


def version_of_alias(name: str, alias: str, *, tracking: TrackingSettings | None = None) -> int | None:
    """The version of a registered model that an alias points at; None: there is no such model or alias.

    Raises:
        CociteError: the store cannot be read.
    """
    from mlflow.exceptions import MlflowException

    client = connect(writable_uri(tracking or TrackingSettings()))
    try:
        return int(client.get_model_version_by_alias(name, alias).version)
    except MlflowException as error:
        if error.error_code in (NOT_THERE, "INVALID_PARAMETER_VALUE"):  # no model; no alias
            return None
        raise CociteError(f"MLflow: {without_passwords(str(error).splitlines()[0])}") from error


def download_model(
    name: str, alias: str, to: str | Path, *, tracking: TrackingSettings | None = None
) -> Path:
    """Copy the model folder that an alias points at to ``to/model`` and verify it; returns the copy's path.

    Raises:
        IntegrityError: the copy is not what was registered.
        CociteError: there is no such alias, the store cannot be read, or the copy cannot be written.
    """
    uri = writable_uri(tracking or TrackingSettings())
    client = connect(uri)
    with translate_write_errors(uri), writing_to(to):
        entity = client.get_model_version_by_alias(name, alias)
        folder = _download(entity, Path(to), uri)
    verify_model(folder, _artifact_tags_of(entity), ModelReference(name, alias))
    return folder


def verify_model(folder: Path, tags: Mapping[str, str], reference: ModelReference) -> None:
    """Compare a copy of a registered model with its manifests, and those with what was registered.

    Args:
        folder: the copy.
        tags: of the version, see :mod:`cocite_mlflow.registration`; a version that has none was registered by other
            means than cocite's, and its manifests are all there is.
        reference: names the model in errors.

    Raises:
        IntegrityError: a file is damaged or missing, or an artifact is not the one that was registered.
    """
    hint = "register it again"
    try:
        manifests = {part: verify(path) for part, path in artifact_folders(folder).items()}
    except CociteError as error:
        file = str(error.where or "").removeprefix(f"{folder}/")
        text = f"the registered model cannot be used: {file}: {error.message}"
        raise IntegrityError(text, where=str(reference), hint=hint) from error
    present = artifact_tags(manifests)
    for tag in sorted({*present, *tags}) if tags else []:
        if present.get(tag) != tags.get(tag):
            raise IntegrityError(
                f"the registered model cannot be used: {tag.removeprefix(ARTIFACT_TAG)} is not the one that was "
                "registered",
                where=str(reference),
                hint=hint,
            )


def _download(entity: Any, to: Path, uri: str) -> Path:
    from mlflow.artifacts import download_artifacts

    return Path(download_artifacts(artifact_uri=entity.source, dst_path=str(to), tracking_uri=uri))


def _artifact_tags_of(entity: Any) -> dict[str, str]:
    """The tags of MLflow's entity of a version that name its artifacts.

    Earlier versions may have tags of hidden folders, which were never copied into the store.
    """
    tags = {tag: text for tag, text in entity.tags.items() if tag.startswith(ARTIFACT_TAG)}
    return {
        tag: text for tag, text in tags.items() if not re.match(r"\.[^.]", tag.removeprefix(ARTIFACT_TAG))
    }

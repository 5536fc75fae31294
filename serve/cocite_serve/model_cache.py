"""Copies of registered models on this machine: the last versions of each model, every file of them verified.

They lie in a folder of versions like those of an index, so that a version that is being served is not deleted.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from pathlib import Path

from cocite.errors import BusyError, CociteError, IntegrityError
from cocite.retrieval.index.versions import VersionedFolder, VersionLock
from cocite_mlflow.connection import tracking_uri
from cocite_mlflow.references import ModelReference, ModelVersion
from cocite_mlflow.registry import ModelRegistry, verify_model
from cocite_serve.settings import RegistrySettings

KEEP = 3
"""Versions of a model that stay in the cache; those that are locked stay besides."""


class ModelCache:
    """Finds registered models in an MLflow store and keeps copies of them.

    Args:
        settings: where the store and the copies are.

    Example:
        >>> import tempfile
        >>> from cocite.artifacts import publish
        >>> from cocite_mlflow.connection import TrackingSettings
        >>> from cocite_mlflow.registration import register_model
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with publish(Path(folder, "model", "nnselect"), kind="nnselect", meta={}) as artifact:
        ...         _ = (artifact / "weights.txt").write_text("0.5")
        ...     tracking = TrackingSettings(folder=folder)
        ...     _ = register_model(Path(folder, "model"), "ranker", "champion", tracking=tracking)
        ...     cache = ModelCache(RegistrySettings(folder=folder, cache=Path(folder, "cache")))
        ...     version = cache.resolve(ModelReference.parse("models:/ranker@champion"))
        ...     copy, lock = cache.fetch(version)
        ...     print(version, (copy / "nnselect" / "weights.txt").read_text())
        ranker version 1 (@champion) 0.5
    """

    def __init__(self, settings: RegistrySettings) -> None:
        self.settings = settings
        self.registry = ModelRegistry(
            tracking_uri(settings.folder), hint="name it by MLFLOW_TRACKING_URI or registry.folder"
        )

    def resolve(self, reference: ModelReference) -> ModelVersion:
        """The version that a reference leads to now.

        Raises:
            NotFoundError: no such model, alias or version.
            CociteError: the store cannot be read.
        """
        return self.registry.resolve(reference)

    def fetch(self, version: ModelVersion) -> tuple[Path, VersionLock]:
        """A version's model folder on this machine, every file of it verified; it stays until the lock is released.

        Raises:
            IntegrityError: the folder is not what was registered.
            BusyError: another process fetches this model.
            CociteError: the store cannot be read.
        """
        tags = self.registry.artifact_tags(version)
        # A name that was deleted and given again, or that another store has too, is another model.
        key = hashlib.sha256(self.registry.identity(version).encode()).hexdigest()[:12]
        versions = VersionedFolder(self.settings.cache.expanduser().resolve() / f"{version.name[:80]}-{key}")
        label = f"{version.version:06d}"
        folder = versions.folder(label)
        if folder.is_dir():
            _, lock = versions.lock(label)
            try:
                verify_model(folder, tags, version.reference)
                _require_components(folder, version)
            except CociteError:
                lock.release()  # damaged since: fetched again
            else:
                return folder, lock
        try:
            with versions.writing():
                self._download(version, folder)
                versions.publish(label)
                # Locked before the deletion, which keeps the highest numbers: an alias may lead back to a lower one.
                _, lock = versions.lock(label)
                versions.delete_old(KEEP)
        except BusyError as error:
            raise BusyError("another process fetches this model", where=str(version.reference)) from error
        return folder, lock

    def _download(self, version: ModelVersion, folder: Path) -> None:
        """Put a verified copy of a version at ``folder``, or nothing."""
        temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}")
        try:
            temporary.mkdir()
            copy = self.registry.download(version, temporary)
            _require_components(copy, version)
            shutil.rmtree(folder, ignore_errors=True)
            copy.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _require_components(folder: Path, version: ModelVersion) -> None:
    """Refuse a registered folder that holds no part of the pipeline."""
    from cocite.pipeline import components

    try:
        components.list_components(folder)
    except CociteError as error:
        text = f"the registered model cannot be used: it {error.message}"
        raise IntegrityError(text, where=str(version.reference), hint="register it again") from error

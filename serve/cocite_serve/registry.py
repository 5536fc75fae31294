"""Models that are registered in MLflow: which version a name means, and a verified copy of it on this machine.

Registered models are plain artifacts (safetensors, JSON, text). What was fetched stays in a folder of versions like
those of an index, so that one that is being served is not deleted.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cocite.artifacts import verify
from cocite.errors import BusyError, CociteError, InputError, IntegrityError, NotFoundError, nearest
from cocite.retrieval.index.versions import VersionedFolder, VersionLock
from cocite_serve.settings import Registry as RegistrySettings

SCHEME = "models:/"
KEEP = 3
"""Versions of a model that stay in the cache; those that somebody serves stay besides."""

# What is already set in the environment wins. MLflow would try a store that is gone for minutes.
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}


@dataclass(frozen=True)
class Reference:
    """A registered model as the user names it: by an alias, or by a version."""

    name: str
    alias: str | None = None
    version: int | None = None

    @classmethod
    def parse(cls, model: Path | str | None) -> Reference | None:
        """What ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION`` names; None: it is no such address, but a folder."""
        text = str(model or "")
        if not text.startswith(SCHEME):
            return None
        found = re.fullmatch(r"models:/([^/:]+)(?:@([^/:@]+)|/(\d+))", text)
        if found is None:
            raise InputError(
                f"{text!r} names no registered model",
                where="--model",
                hint="write models:/NAME@ALIAS or models:/NAME/VERSION",
            )
        name, alias, version = found.groups()
        return cls(name, alias, int(version) if version else None)

    def __str__(self) -> str:
        return f"{SCHEME}{self.name}" + (f"@{self.alias}" if self.alias else f"/{self.version}")


@dataclass(frozen=True)
class Registered:
    """A version of a registered model.

    Attributes:
        name: of the model.
        version: its number.
        alias: by which it was asked for; None: by its number.
    """

    name: str
    version: int
    alias: str | None = None

    def __str__(self) -> str:
        return f"{self.name} version {self.version}" + (f" (@{self.alias})" if self.alias else "")


@dataclass
class Registry:
    """A store of registered models, and the copies of them that were fetched.

    Args:
        settings: where both are.
    """

    settings: RegistrySettings
    uri: str = field(init=False)

    def __post_init__(self) -> None:
        local = f"sqlite:///{self.settings.folder.resolve() / 'mlflow.db'}"
        self.uri = os.environ.get("MLFLOW_TRACKING_URI") or local

    def find(self, reference: Reference) -> Registered:
        """The version that is meant now.

        Raises:
            NotFoundError: no such model, alias or version.
            CociteError: the store cannot be asked.
        """
        name, alias = reference.name, reference.alias
        known = self._known(reference)
        if alias is None:
            self._source(reference, int(reference.version or 0))
            return Registered(name, int(reference.version or 0))
        if alias not in known.aliases:
            hint = nearest(alias, known.aliases) if known.aliases else "it has no alias yet"
            raise NotFoundError(f"{name} has no alias {alias!r}", where=str(reference), hint=hint)
        return Registered(name, int(known.aliases[alias]), alias)

    def fetch(self, model: Registered) -> tuple[Path, VersionLock]:
        """A version's model folder on this machine, every file of it verified; it stays while the pin is held.

        Raises:
            IntegrityError: the folder is not what was registered.
            BusyError: another process fetches this model.
            CociteError: the store cannot be asked.
        """
        reference = Reference(model.name, version=model.version)
        source = self._source(reference, model.version)
        tags = {name.removeprefix("artifact."): text for name, text in source.tags.items()}
        # A name that was deleted and given again, or that another store has too, is another model.
        made = f"{self.uri} {model.name} {self._known(reference).creation_timestamp}"
        key = hashlib.sha256(made.encode()).hexdigest()[:12]
        versions = VersionedFolder(self.settings.cache.expanduser().resolve() / f"{model.name[:80]}-{key}")
        label = f"{model.version:06d}"
        folder = versions.folder(label)
        if folder.is_dir():
            _, pin = versions.lock(label)
            try:
                _check(folder, tags, reference)
            except CociteError:
                pin.release()  # damaged since: fetched again
            else:
                return folder, pin
        try:
            with versions.writing():
                self._download(source, folder, tags, reference)
                versions.publish(label)
                _, pin = versions.lock(label)
                versions.delete_old(KEEP)
        except BusyError as error:
            raise BusyError("another process fetches this model", where=str(reference)) from error
        return folder, pin

    def _download(self, source: Any, folder: Path, tags: Mapping[str, str], reference: Reference) -> None:
        temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}")
        try:
            temporary.mkdir()
            with _told(self.uri):
                from mlflow.artifacts import download_artifacts

                place = download_artifacts(
                    artifact_uri=source.source, dst_path=str(temporary), tracking_uri=self.uri
                )
            _check(Path(place), tags, reference)
            shutil.rmtree(folder, ignore_errors=True)
            Path(place).rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _known(self, reference: Reference) -> Any:
        """What the store says of a name."""
        from mlflow.exceptions import MlflowException

        client = self._client()
        with _told(self.uri):
            try:
                return client.get_registered_model(reference.name)
            except MlflowException as error:
                if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                    raise
            names = [model.name for model in client.search_registered_models()]
        hint = nearest(reference.name, names) if names else "none is registered there"
        raise NotFoundError(f"no registered model {reference.name!r}", where=str(reference), hint=hint)

    def _source(self, reference: Reference, version: int) -> Any:
        """What the store says of a version."""
        from mlflow.exceptions import MlflowException

        client = self._client()
        with _told(self.uri):
            try:
                return client.get_model_version(reference.name, str(version))
            except MlflowException as error:
                if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                    raise
        raise NotFoundError(f"{reference.name} has no version {version}", where=str(reference))

    def _client(self) -> Any:
        """MLflow's client. The import takes seconds, so it waits until a registered model is asked for."""
        path = self.uri.removeprefix("sqlite:///")
        if path != self.uri and not Path(path).is_file():  # MLflow would make an empty one
            raise NotFoundError(
                "no MLflow store", where=path, hint="name it by MLFLOW_TRACKING_URI or registry.folder"
            )
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        with _told(self.uri):
            from mlflow import MlflowClient

            return MlflowClient(self.uri, self.uri)


def _check(folder: Path, tags: Mapping[str, str], reference: Reference) -> None:
    """Hold every member of a model folder against its manifest, and against what was noted when it was registered."""
    from cocite.pipeline import components as members

    try:
        found = {name: verify(folder / name) for name in members.check(folder)}
    except CociteError as error:
        place = str(error.where or "").removeprefix(f"{folder}/")
        text = f"the registered model cannot be used: {place}: {error.message}"
        raise IntegrityError(text, where=str(reference), hint="register it again") from error
    for name in members.MEMBERS:
        noted = f"{found[name].kind} {found[name].digest}" if name in found else None
        if tags and tags.get(name) != noted:
            raise IntegrityError(
                f"the registered model cannot be used: {name} is not the one that was registered",
                where=str(reference),
                hint="register it again",
            )


@contextmanager
def _told(uri: str) -> Iterator[None]:
    """Whatever the store raises as a sentence: MLflow, its database and its network each have errors of their own."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except CociteError:
        raise
    except MlflowException as error:
        raise CociteError(f"MLflow: {_shown(str(error).splitlines()[0])}", where=_shown(uri)) from error
    except Exception as error:
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise CociteError(f"the MLflow store cannot be read: {_shown(text)}", where=_shown(uri)) from error


def _shown(text: str) -> str:
    """A text without the passwords that stand in its addresses."""
    return re.sub(r"//[^/@\s]*@", "//", text)

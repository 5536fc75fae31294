"""A release: one model over one index snapshot, where both come from, and whether they fit each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.artifacts import load_array
from cocite.corpus.cold_history import cold_history
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError
from cocite.manifests import read_manifest
from cocite.retrieval.index.versions import VersionedFolder, VersionLock
from cocite.verification import is_switched_off, open_verified_once, verify_now
from cocite_mlflow.references import ModelReference, ModelVersion
from cocite_serve.model_cache import ModelCache
from cocite_serve.settings import ServeSettings


@dataclass(frozen=True)
class Release:
    """A model over an index snapshot: all that the two stages of one generation load.

    Attributes:
        model: its folder; None: the first stage's blend alone ranks.
        index: the index folder.
        index_version: the snapshot.
        registered: the version of a registered model that the folder is a copy of; None: a folder was named.
        shards: how many the snapshot is divided into, each of which has replicas of its own; 0: it is searched whole.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), folder)
        ...     release = Release(None, Path(folder), "000001")
        ...     release.check()  # an index that holds papers; no model that could not fit it
        ...     print(release)
        no model over index 000001
    """

    model: Path | None
    index: Path
    index_version: str
    registered: ModelVersion | None = None
    shards: int = 0

    @property
    def target(self) -> Target:
        """The versions that this release serves."""
        return Target(self.registered, self.index_version)

    def __str__(self) -> str:
        model = self.registered or self.model or "no model"
        return f"{model} over index {self.index_version}"

    @property
    def has_cross_encoder(self) -> bool:
        """Whether the model folder has a cross-encoder; without one the first stage does all of the work."""
        return self.model is not None and (self.model / "cross-encoder").is_dir()

    def encoders_without_vectors(self) -> list[str]:
        """The model's encoders for which the index holds no vectors: the retriever does without them."""
        return sorted(_encoder_ids(self.model).keys() - _vector_ids(self).keys())

    def cold_history_warning(self) -> InputError | None:
        """A warning where the snapshot knows of no citation: recommendations then rest on texts alone."""
        folder = VersionedFolder(self.index).folder(self.index_version)
        history = History(Corpus.open(folder / "corpus"), load_array(folder / "history.npy"))
        hint = "build the index again without --known-until and --before-split, or with a later year or split"
        return cold_history(history, "whose links the index knows", hint)

    def golden_warning(self) -> InputError | None:
        """A warning where the model keeps no golden queries of its own: an unsound one could then be served."""
        from cocite.pipeline.golden_queries import are_missing  # imports models

        if self.model is None or not are_missing(self.model):
            return None
        return InputError(
            "keeps no golden queries of its own, so one with random weights could pass for it",
            where=str(self.registered or self.model),
            hint=f"cocite model golden MODEL --index {self.index}",
        )

    def warn_if_unproven(self, settings: ServeSettings, notify: Callable[[str], None]) -> None:
        """Give the operator :meth:`golden_warning` in a line, unless the settings ask no golden queries."""
        if settings.rollout.queries and (warning := self.golden_warning()) is not None:
            notify(f"cocite: warning: {warning}")

    def check(self, served: Release | None = None) -> None:
        """Check by their manifests, without loading either, that the index holds the vectors of the model's encoders.

        Args:
            served: the release that is served now; an encoder without vectors there may stay without.

        Raises:
            InputError: the index is empty, its vectors were made by other encoders, or an encoder that has vectors in
                ``served`` would have none.
        """
        if _index_meta(self).get("papers") == 0:
            raise InputError(
                "the index holds no paper, so there is nothing to recommend", where=str(self.index)
            )
        if self.model is None:
            return
        encoders, vectors = _encoder_ids(self.model), _vector_ids(self)
        hint = f"cocite index build CORPUS --to {self.index} --model {self.model}"
        for name in sorted(encoders.keys() & vectors.keys()):
            if encoders[name] != vectors[name]:
                raise InputError(
                    f"the index's vectors of {name} were made by another {name} than the model's", hint=hint
                )
        if served is None:
            return
        missing = sorted({*self.encoders_without_vectors()} - {*served.encoders_without_vectors()})
        if missing:
            raise InputError(f"the index holds no vectors of {', '.join(missing)}", hint=hint)


@dataclass(frozen=True)
class Target:
    """Versions that could be served.

    Attributes:
        model: the version of a registered model; None: a folder was named, or no model.
        index: the snapshot.

    Example:
        >>> Target(ModelVersion("ranker", 2, "champion"), "000001") == Target(None, "000001")
        False
    """

    model: ModelVersion | None
    index: str


@dataclass(frozen=True)
class LockedRelease:
    """A release whose files are not deleted until it is unlocked.

    Attributes:
        release: the model over the index.
        locks: of the snapshot, and of the model's copy in the cache.

    Example:
        >>> release = Release(None, Path("index"), "000001")
        >>> LockedRelease(release, locks=(VersionLock(None),)).unlock()
    """

    release: Release
    locks: tuple[VersionLock, ...]

    def unlock(self) -> None:
        """Allow the snapshot and the model's copy to be deleted."""
        for lock in self.locks:
            lock.release()


class ReleaseSource:
    """Finds the newest versions by the settings, the registry and the index folder, and makes releases of them.

    Args:
        settings: name the model, the index, and how often to look for newer versions.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), folder)
        ...     source = ReleaseSource(ServeSettings(index=folder))
        ...     print(source.newest())
        ...     print(source.lock(source.newest()).release)
        Target(model=None, index='000001')
        no model over index 000001
    """

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.reference = ModelReference.parse(settings.model)
        self.cache = ModelCache(settings.registry)

    @property
    def interval(self) -> float:
        """Seconds between two looks for newer versions; 0: what is served never changes."""
        if self.settings.watch.seconds is not None:
            return self.settings.watch.seconds
        return 60.0 if self.reference is not None and self.reference.alias else 0.0

    def newest(self) -> Target:
        """The version behind the alias, and the current snapshot unless the settings name one.

        Raises:
            CociteError: there is no such model or index, or the registry cannot be read.
        """
        index = self.settings.index_version or VersionedFolder(self.settings.index).current()
        return Target(None if self.reference is None else self.cache.resolve(self.reference), index)

    def lock(self, target: Target, *, whole: bool = False) -> LockedRelease:
        """Fetch what is missing, lock it, and verify it, before any replica begins to load it.

        Args:
            target: the versions.
            whole: whether to read every byte, also of an index that was verified before and has not changed by its
                files' sizes and times; not where ``COCITE_VERIFY=0`` says that an index is checked by other means.

        Raises:
            IntegrityError: a file of the model or of the snapshot is damaged.
            CociteError: there is no such model or snapshot, or the registry cannot be read.
        """
        version, index_lock = VersionedFolder(self.settings.index).lock(target.index)
        index = self.settings.index.resolve()
        verify = verify_now if whole and not is_switched_off() else open_verified_once
        try:
            manifest = verify(VersionedFolder(index).folder(version), kind="index")
        except CociteError:
            index_lock.release()
            raise
        shards = len(manifest.meta.get("shards", ()))
        if target.model is not None:
            folder, model_lock = self.cache.fetch(target.model)
            return LockedRelease(
                Release(folder, index, version, target.model, shards), (index_lock, model_lock)
            )
        model = self.settings.model
        if model is not None:
            from cocite.pipeline import components

            components.verify(model, again=whole)
            model = model.resolve()
        return LockedRelease(Release(model, index, version, shards=shards), (index_lock,))


def _encoder_ids(model: Path | None) -> dict[str, str]:
    """Name -> id of each encoder of a model folder: the fingerprint of its artifact."""
    from cocite.pipeline import components

    if model is None:
        return {}
    return {
        name: read_manifest(model / name).digest for name in components.ENCODERS if (model / name).is_dir()
    }


def _vector_ids(release: Release) -> dict[str, str]:
    """Name -> id of each encoder that made vectors of a release's snapshot."""
    return dict(_index_meta(release).get("encoder_ids", {}))


def _index_meta(release: Release) -> dict[str, Any]:
    """The metadata in the manifest of a release's snapshot."""
    return read_manifest(VersionedFolder(release.index).folder(release.index_version)).meta

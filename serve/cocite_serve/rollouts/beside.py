"""Follows the release beside the served one: loads it, and the next one behind its alias or index."""

from __future__ import annotations

from cocite.errors import CociteError, InputError, IntegrityError
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.notices import Notice, Notify
from cocite_serve.release import LockedRelease, Release, ReleaseSource, Target
from cocite_serve.rollouts.errors import RolloutError
from cocite_serve.rollouts.rollout import Rollout
from cocite_serve.settings import ServeSettings


def beside_source(settings: ServeSettings) -> ReleaseSource | None:
    """Finds the versions of the release beside; None: the settings name none.

    Example:
        >>> from pathlib import Path
        >>> settings = ServeSettings(index="index", beside={"model": "models:/ranker@challenger"})
        >>> source = beside_source(settings)
        >>> str(source.reference), source.settings.index
        ('models:/ranker@challenger', PosixPath('index'))
    """
    beside = settings.beside
    if not beside.is_named:
        return None
    changes = {name: value for name in ("model", "index") if (value := getattr(beside, name)) is not None}
    return ReleaseSource(settings.model_copy(update=changes | {"index_version": beside.index_version}))


class BesideFollower:
    """Keeps the newest release beside the served one that could be loaded. What it fails at disturbs nothing.

    Args:
        source: finds versions and makes releases of them.
        rollout: loads them.
        notify: takes one line for the operator of the endpoint.

    Attributes:
        refused: the newest release, where it is not loaded.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> class NoRay(Rollout):  # the real one runs on Ray Serve
        ...     def put_beside(self, release): ...
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), folder)
        ...     settings = ServeSettings(index=folder, beside={"index": folder})
        ...     BesideFollower(beside_source(settings), NoRay(settings), print).look(Release(None, folder, "000001"))
        Beside the served release: no model over index 000001.
    """

    def __init__(self, source: ReleaseSource, rollout: Rollout, notify: Notify) -> None:
        self.source = source
        self.refused: RefusedRelease | None = None
        self._rollout, self._notify = rollout, notify
        self._loaded: LockedRelease | None = None
        self._tried: Target | None = None
        self._failure = ""

    def look(self, served: Release) -> None:
        """Load the newest release, where it was neither loaded nor refused before.

        Args:
            served: the release that is served now.
        """
        try:
            newest = self.source.newest()
        except CociteError as error:  # the store is away, or there is no such version yet
            if str(error) != self._failure:
                self._failure = str(error)
                self._notify(f"Cannot look for a release beside the served one: {error}")
            return
        self._failure = ""
        if newest == self._tried:
            return
        try:
            self._load(newest, served)
        except (InputError, IntegrityError, RolloutError) as error:
            if self._rollout.is_interrupted:
                return
            self._tried = newest
            name = f"{newest.model or self.source.settings.model or 'no model'} over index {newest.index}"
            self.refused = RefusedRelease.now(f"{name}, beside the served release", error)
            self._notify(
                Notice(
                    f"{name} is not loaded beside the served release: {error}",
                    outcome="refused_beside",
                    release=name,
                    why=str(error),
                )
            )
        else:
            self._tried, self.refused = newest, None

    def unlock(self) -> None:
        """Allow the files of the release to be deleted."""
        if self._loaded is not None:
            self._loaded.unlock()

    def _load(self, target: Target, served: Release) -> None:
        new, old = self.source.lock(target, whole=True), self._loaded
        try:
            new.release.check(served)
            self._rollout.put_beside(new.release)
        except BaseException:
            new.unlock()
            raise
        self._loaded = new
        self._notify(
            Notice(f"Beside the served release: {new.release}.", outcome="beside", release=str(new.release))
        )
        new.release.warn_if_unproven(self.source.settings, self._notify)
        if old is not None:
            old.unlock()

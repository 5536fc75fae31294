"""The stages of the release that this process serves; a newer one is loaded beside it, tried, and takes its place."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

from cocite.errors import CociteError
from cocite_serve.http.backend import Backend
from cocite_serve.http.papers import Papers
from cocite_serve.http.problems import NotReadyError
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.one_process.handles import Begin, LocalHandle, from_threads
from cocite_serve.release import Release
from cocite_serve.replicas.canary import Canary
from cocite_serve.replicas.gateway import StagePair
from cocite_serve.replicas.health import UnhealthyError
from cocite_serve.replicas.queued_stage import QueuedStage
from cocite_serve.replicas.stages import Reranker, Retriever
from cocite_serve.rollouts.asked_stages import AskedStages
from cocite_serve.rollouts.canary_run import run_canary
from cocite_serve.rollouts.errors import RolloutError, last_line
from cocite_serve.rollouts.golden_trial import GoldenTrial, prove
from cocite_serve.settings import ServeSettings


class LocalPair(StagePair):
    """The two stages of a release, in this process; a :class:`~cocite_serve.http.backend.Backend`.

    Args:
        release: what both have loaded.
        retriever, reranker: the stages; no reranker where the model has no cross-encoder.
        loop: where they are called, and where this pair is.

    Example:
        :class:`LocalStages` makes them.

        >>> LocalPair.ready.__doc__.split(";")[0]
        'Return when both stages answer'
    """

    def __init__(
        self,
        release: Release,
        retriever: Retriever,
        reranker: Reranker | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        versions, kinds = retriever.loaded, () if reranker is None else reranker.reads
        papers = Papers.open(release.index, versions.index)
        here = _handles(retriever, reranker, asyncio.create_task)
        elsewhere = _handles(retriever, reranker, from_threads(loop))
        super().__init__(release, versions, papers, *here, kinds)
        self.asked = AskedStages(release, papers, *elsewhere, kinds)
        self._stages: list[QueuedStage] = [retriever] if reranker is None else [retriever, reranker]

    async def ready(self) -> None:
        """Return when both stages answer; here nobody else asks whether their threads are stuck."""
        try:
            for stage in self._stages:
                await stage.check_health()
        except UnhealthyError as error:
            raise NotReadyError(f"a stage does not compute: {error}") from error


class LocalStages:
    """The stages of the release that is served, and what turns to another one.

    Args:
        settings: of the endpoint.
        loop: a running event loop in another thread, where the stages are called.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> loop = asyncio.new_event_loop()
        >>> thread = threading.Thread(target=loop.run_forever)
        >>> thread.start()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), folder)
        ...     stages = LocalStages(ServeSettings(index=folder), loop)
        ...     stages.start(Release(None, Path(folder), "000001"))
        >>> stages.backend.index_version
        '000001'
        >>> _ = loop.call_soon_threadsafe(loop.stop)
        >>> thread.join()
    """

    def __init__(self, settings: ServeSettings, loop: asyncio.AbstractEventLoop) -> None:
        self._settings, self._loop = settings, loop
        self._pair: LocalPair | None = None
        self._canary: Canary | None = None
        self._interrupted = threading.Event()

    @property
    def backend(self) -> Backend:
        """What answers now: the stages of the served release, and in a canary those of another one, too.

        Raises:
            NotReadyError: nothing is loaded yet.
        """
        if self._pair is None:
            raise NotReadyError("the stages are not loaded yet; try again")
        return self._canary or self._pair

    def start(self, release: Release) -> None:
        """Load a release, and serve it if its answers are sound.

        Raises:
            RolloutError: they are not, or it cannot be loaded.
        """
        self._pair, _ = self._prove(release, None)
        _collect()

    def switch_to(self, release: Release) -> None:
        """Load another release beside the present one, and serve it if it passes its trial; else nothing changes.

        Raises:
            RolledBackError: in the canary it failed, or was too slow.
            RolloutError: its golden answers are not sound, or it cannot be loaded.
        """
        served = self._pair
        pair, trial = self._prove(release, served)
        settings = self._settings.rollout
        if served is not None and settings.has_canary:
            canary = self._canary = Canary(served, pair, settings.canary_share, settings.timeout_s)
            try:
                run_canary(lambda: [canary.tallies], trial, settings, self._interrupted)
            finally:
                self._canary = None
        self._pair = pair

    def delete_old_stages(self) -> None:
        """Return when no request can be with a release before this one, and its memory is free."""
        self._free(self._settings.request_timeout_s + 1)

    def tell(self, refused: tuple[RefusedRelease, ...]) -> None:
        """Take note of which newer releases are refused; returns when the memory of one that was new to it is free."""
        if self._pair is None:
            return
        known, self._pair.refused = self._pair.refused, refused
        if any(each not in known for each in refused):
            # Not in `switch_to`: what that raises still refers to the release.
            self._free(min(self._settings.rollout.timeout_s, self._settings.request_timeout_s))

    def interrupt(self) -> None:
        """End every wait at once."""
        self._interrupted.set()

    def _prove(self, release: Release, served: LocalPair | None) -> tuple[LocalPair, GoldenTrial]:
        settings = self._settings
        try:
            retriever = Retriever(release, settings=settings.retriever)
            handle: Any = LocalHandle(retriever, asyncio.create_task)
            reranker = None
            if release.has_cross_encoder:
                reranker = Reranker(release, handle, settings=settings.reranker)
            pair = LocalPair(release, retriever, reranker, self._loop)
        except CociteError as error:
            raise RolloutError(str(error)) from error
        except Exception as error:
            raise RolloutError(f"a stage cannot be loaded: {last_line(error) or repr(error)}") from error
        asked = None if served is None else served.asked
        return pair, prove(pair.asked, asked, settings, self._interrupted)

    def _free(self, seconds: float) -> None:
        """Free the memory of stages that nothing turns to any more, after the seconds that a request may take there."""
        self._interrupted.wait(seconds)
        # The error of a request refers to what it was raised in, its future among it: nothing else frees that soon.
        _collect()


def _handles(retriever: Retriever, reranker: Reranker | None, begin: Begin) -> tuple[Any, Any]:
    """The two stages as the gateway calls them; None in the place of one that is not there."""
    return LocalHandle(retriever, begin), None if reranker is None else LocalHandle(reranker, begin)


def _collect() -> None:
    """Free what nothing refers to, and let Python's own collections pass over the rest, as Ray Serve's replicas do.

    With 400,000 objects of the stages and libraries each such collection took 0.2 s in the middle of a request.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()

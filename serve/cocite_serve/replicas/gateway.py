"""The gateway: the replica that answers HTTP requests by calling the two stages of one release.

No ``from __future__ import annotations`` here: FastAPI reads the gateway.
"""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
from fastapi import FastAPI
from numpy.typing import NDArray
from ray import serve
from ray.serve.handle import DeploymentHandle

from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite_serve.http.api import build_app
from cocite_serve.http.backend import Backend
from cocite_serve.http.click_paths import Clicks, NoClicks
from cocite_serve.http.conversion import Answer
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.papers import Papers
from cocite_serve.http.problems import OverloadedError
from cocite_serve.http.release_names import find_release
from cocite_serve.http.text_work import EmbedWork, ModelFacts, ScoreWork
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.json_log import open_log
from cocite_serve.release import Release
from cocite_serve.replicas.canary import Canary, Counted
from cocite_serve.replicas.clicks import RemoteClicks
from cocite_serve.replicas.directions import ANY_STAGES, Directions
from cocite_serve.replicas.full_replicas import FullReplicas
from cocite_serve.replicas.loaded_versions import LoadedVersions
from cocite_serve.replicas.names import served_stages
from cocite_serve.replicas.pair_chunks import Reranked, pairs_asked
from cocite_serve.replicas.ray_errors import translate_errors
from cocite_serve.replicas.release_metrics import ReleaseMetrics
from cocite_serve.replicas.reporting import Replica, begin_reporting, replica_name
from cocite_serve.replicas.stage_calls import fact_of, result_of
from cocite_serve.replicas.stages import RetrievedCandidates
from cocite_serve.replicas.two_releases import TwoReleases
from cocite_serve.settings import ServeSettings
from cocite_serve.tracing.spans import span

LOG = logging.getLogger("ray.serve")
OPEN_S = 15.0
"""Seconds within which the release beside the served one has to say what it is."""


class StagePair:
    """The two stages of one release, as a gateway calls them; a :class:`~cocite_serve.http.backend.Backend`.

    Args:
        release: what the stages have loaded.
        versions: of its model and index.
        papers: of its index.
        retriever: Ray Serve's handle of the first stage.
        reranker: Ray Serve's handle of the second; None: the model has no cross-encoder.
        kinds: of query whose candidates the cross-encoder reads.
        replicas: of the second stage.
        most: replicas that the second stage may have.

    Attributes:
        full: which replicas of it have refused requests.

    Example:
        A gateway opens the stages of an application by its name, on Ray Serve::

            pair = await StagePair.open("cocite-stages-1")
            answer = await pair.recommend(query, Options(top_k=5), Deadline.after(20, partial=False))

        >>> release = Release(None, "index", "000001")
        >>> pair = StagePair(release, LoadedVersions("5f0c", "000001"), None, None, None)
        >>> pair.model_version, pair.index_version
        ('5f0c', '000001')
    """

    def __init__(
        self,
        release: Release,
        versions: LoadedVersions,
        papers: Papers,
        retriever: DeploymentHandle,
        reranker: DeploymentHandle | None,
        kinds: tuple[str, ...] = (),
        replicas: int = 1,
        most: int | None = None,
    ) -> None:
        self.papers, self.registered, self.model = papers, release.registered, release.model
        self.refused: tuple[RefusedRelease, ...] = ()
        self.beside: Backend | None = None
        self.model_version, self.index_version = versions.model, versions.index
        self._versions, self._retriever, self._reranker = versions, retriever, reranker
        self._shards, self._kinds, self._replicas = release.shards, kinds, replicas
        self._facts: ModelFacts | None = None
        self.full = FullReplicas(most or replicas)
        self._under_way = 0
        self._coming = 0
        """Pairs of the requests that were admitted and are at the first stage still."""

    @classmethod
    async def open(cls, app: str, replicas: int = 1, most: int | None = None) -> "StagePair":
        """The stages of an application; waits until both are loaded.

        Args:
            app: its name.
            replicas, most: of the second stage.

        Raises:
            NotReadyError: the two have loaded different versions.
        """
        # Serve's call waits for its controller, and the event loop must answer other requests meanwhile.
        ingress = await asyncio.to_thread(serve.get_app_handle, app)
        release, retriever = await fact_of("stages", ingress, "release")
        versions: LoadedVersions = await fact_of("stages", ingress, "versions")
        papers = await asyncio.to_thread(Papers.open, release.index, versions.index)
        if retriever is None:
            return cls(release, versions, papers, ingress, None)
        versions.require_same(await fact_of("retriever", retriever, "versions"), "retriever")
        kinds = await fact_of("reranker", ingress, "kinds")
        return cls(release, versions, papers, retriever, ingress, kinds, replicas, most)

    def holding(self, *_: str) -> "StagePair":
        """This pair: there is no other."""
        return self

    def chosen(self, release: str | None, _: str) -> "StagePair":
        """This pair; raises InputError where another release is named."""
        find_release(release, self)
        return self

    async def ready(self) -> None:
        """Return when both stages answer with the versions of this pair."""
        for name, stage in (("retriever", self._retriever), ("reranker", self._reranker)):
            if stage is None:
                continue
            with suppress(OverloadedError), translate_errors():  # busy is not broken
                self._versions.require_same(await fact_of(name, stage, "versions"), name)

    async def recommend(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        """The ranked papers of one query: one call to each stage, and a second one where the first met a dead replica.

        Where no cross-encoder reads the candidates, the first stage orders them too. Where one does, and other
        requests are under way, the second stage is asked first whether it will take this one in: a request that is
        refused has then cost next to nothing.
        """
        pairs = pairs_asked(self._kinds, query, options)
        described = span("recommend", self._described(query, options))
        with described as spans, self.full.noting(pairs), translate_errors(), self._counted():
            if pairs:
                answer = await self._with_pairs(pairs, query, options, deadline)
            else:
                answer = await self._without_pairs(query, options, deadline)
            spans.set({"cocite.read": answer.read, "cocite.papers": len(answer.recommendations)})
        return answer

    async def _with_pairs(self, pairs: int, query: Query, options: Options, deadline: Deadline) -> Answer:
        reranker = self._reranker
        assert reranker is not None, "nothing else reads pairs"
        begin = time.perf_counter()
        if self._under_way > 1:
            self.full.require_room(pairs)
            before = self._coming // self._replicas
            await result_of(
                "reranker.admit",
                lambda _: reranker.admit.remote(query, options, deadline.left(), deadline.partial, before),
            )
        with self._announced(pairs):
            retrieved: RetrievedCandidates = await result_of(
                "retriever.retrieve",
                lambda origins: self._retriever.retrieve.remote(query, options, deadline.left(), origins),
            )
        self._versions.require_same(retrieved.versions, "retriever")
        between = time.perf_counter()
        reranked: Reranked = await result_of(
            "reranker.rerank",
            lambda origins: reranker.rerank.remote(
                query, retrieved, options, deadline.left(), deadline.partial, origins
            ),
        )
        end = time.perf_counter()
        return Answer(
            reranked.papers,
            1000 * (between - begin),
            1000 * (end - between),
            self._shards,
            retrieved.candidates.missing_shards,
            reranked.read,
            reranked.of,
            unlike_corpus=any(retrieved.candidates.unlike),
        )

    async def _without_pairs(self, query: Query, options: Options, deadline: Deadline) -> Answer:
        begin = time.perf_counter()
        found, versions = await result_of(
            "retriever.recommend",
            lambda origins: self._retriever.recommend.remote(query, options, deadline.left(), origins),
        )
        self._versions.require_same(versions, "retriever")
        order_ms = 1000 * found.order_s
        retrieve_ms = 1000 * (time.perf_counter() - begin) - order_ms
        return Answer(
            found.papers,
            retrieve_ms,
            order_ms,
            self._shards,
            found.missing_shards,
            unlike_corpus=found.unlike_corpus,
        )

    def _described(self, query: Query, options: Options) -> dict[str, str | int | float | bool]:
        """What a trace tells of a request for recommendations."""
        return {
            "cocite.query": query.kind,
            "cocite.top_k": options.top_k,
            "cocite.depth": options.depth,
            "cocite.rerank": options.rerank,
            "cocite.model_version": self.model_version,
            "cocite.index_version": self.index_version,
        }

    async def facts(self) -> ModelFacts:
        """What is known of the encoders and the cross-encoder that are served."""
        if self._facts is None:
            with translate_errors():
                encoders = await fact_of("retriever", self._retriever, "encoders")
                reranker = self._reranker
                reads = None if reranker is None else await fact_of("reranker", reranker, "cross_encoder")
            self._facts = ModelFacts(encoders, reads)
        return self._facts

    async def embed(self, work: EmbedWork, deadline: Deadline) -> NDArray[np.float32]:
        """(n, d) the vectors of texts or papers, by the first stage."""
        with translate_errors(), self._counted():
            vectors: NDArray[np.float32] = await result_of(
                "retriever.embed",
                lambda origins: self._retriever.embed.remote(work, self._versions, deadline.left(), origins),
            )
        return vectors

    async def score(self, work: ScoreWork, deadline: Deadline) -> NDArray[np.float32]:
        """(r,) the cross-encoder's logits of texts, by the second stage."""
        reranker = self._reranker
        assert reranker is not None, "the API asks for the facts first"
        with translate_errors(), self._counted():
            logits: NDArray[np.float32] = await result_of(
                "reranker.score",
                lambda origins: reranker.score.remote(work, deadline.left(), origins),
            )
        return logits

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    @contextmanager
    def _announced(self, pairs: int) -> Iterator[None]:
        self._coming += pairs
        try:
            yield
        finally:
            self._coming -= pairs


@serve.ingress()
class Gateway(Replica):
    """The HTTP application of one replica over the stages that it was told to call.

    Args:
        settings: of the endpoint.
        first: what it does at first; where those stages do not run, it calls those of
            :func:`~cocite_serve.replicas.names.served_stages`.
        clicks: Ray Serve's handle of what counts clicks; None: answers are not interleaved.

    Example:
        On Ray Serve, see :func:`cocite_serve.replicas.applications.gateway_application`::

            serve.run(gateway_application(settings), name="cocite", route_prefix="/")
            serve.get_app_handle("cocite").broadcast("follow", Directions("cocite-stages-2")).results()

        >>> Gateway.follow.__name__  # the method that a rollout calls on every gateway
        'follow'
    """

    def __init__(
        self,
        settings: ServeSettings,
        first: Directions = ANY_STAGES,
        clicks: DeploymentHandle | None = None,
    ) -> None:
        begin_reporting("gateway")
        self._settings, self._first = settings, first
        self._clicks: Clicks = NoClicks() if clicks is None else RemoteClicks(clicks)
        self._release_metrics = ReleaseMetrics() if settings.beside.is_named else None
        self._backend: Backend
        self._pairs: dict[str, StagePair] = {}
        self._canary: Canary | None = None
        self._told = self._followed = 0
        """How often it was told what to do, and the last time of these that it does."""

    async def __serve_build_asgi_app__(self) -> FastAPI:
        """The application of this replica."""
        stages = await asyncio.to_thread(served_stages, self._first.stages)
        await self.follow(replace(self._first, stages=stages))
        log = open_log(self._settings.logs, "gateway")
        return build_app(lambda: self._backend, self._settings, log=log, clicks=self._clicks)

    async def follow(self, directions: Directions) -> None:
        """Do as directed from now on; being told the same again changes nothing.

        Requests under way stay with the stages they began with: each asked for its backend once.
        """
        self._told += 1
        turn, known = self._told, self._pairs
        wanted = {name for name in (directions.stages, directions.trial) if name}
        opened = {name: await self._pair(name) for name in wanted - known.keys()}
        beside = await self._open_beside(directions.beside)
        # Nothing is awaited from here on: until all are open, requests go where they went before.
        if turn < self._followed:
            return  # what it was told later is done already: these stages may be deleted
        self._followed = turn
        pairs = {name: (known | opened)[name] for name in wanted}
        served = pairs[directions.stages]
        served.refused = directions.refused
        if not directions.trial:
            self._canary = None
        elif self._canary is None or opened:
            trial = pairs[directions.trial]
            self._canary = Canary(served, trial, directions.share, directions.timeout_s)
        self._backend = self._with_beside(self._canary or served, beside)
        served.full.tell = self._backend is served
        if beside is not None:
            pairs[directions.beside] = beside
        self._pairs = pairs

    async def _pair(self, app: str) -> StagePair:
        settings = self._settings.reranker
        return await StagePair.open(app, settings.replicas, settings.most)

    async def _open_beside(self, app: str) -> StagePair | None:
        """The release beside the served one; None: there is none, or it does not answer, which must disturb nothing."""
        if not app or app in self._pairs:
            return self._pairs.get(app)
        try:
            async with asyncio.timeout(OPEN_S):
                return await self._pair(app)
        except Exception as error:
            LOG.warning("the release beside the served one does not answer: %r", error)
            return None

    def _with_beside(self, main: Backend, beside: StagePair | None) -> Backend:
        """What answers: the served release, or the canary, and the release beside it where there is one."""
        if beside is None or self._release_metrics is None:
            return main
        present = getattr(self, "_backend", None)
        if isinstance(present, TwoReleases) and (present.served, present.beside) == (main, beside):
            return present  # it knows how requests went
        settings = self._settings.beside
        if self._canary is not None:
            # A release on trial is compared with the served one by itself.
            settings = settings.model_copy(update={"traffic": "none"})
        return TwoReleases(main, beside, settings, self._release_metrics, self._clicks)

    async def check_health(self) -> None:
        """Return. Ray Serve asks on the loop that answers requests, and replaces a gateway whose loop is stuck."""

    async def tallies(self) -> Counted:
        """How requests went since a release is on trial: by that one, and by the served one."""
        tallies = None if self._canary is None else self._canary.tallies
        return Counted(replica_name() or "gateway", tallies)

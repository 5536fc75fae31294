"""The two stages as Ray Serve deployments: a retriever and a reranker.

Each holds one stage object of the library and adds what serving needs: a queue in front of one computing thread, and a
check that both serve the same model and index. What passes between them are the library's arrays.
"""

from __future__ import annotations

import math
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.options import Candidates, Options
from cocite.protocols import Query
from cocite_serve.http.text_work import CrossEncoderFacts, EmbedWork, EncoderFacts, ScoreWork
from cocite_serve.release import Release
from cocite_serve.replicas.batch_metrics import BatchMetrics
from cocite_serve.replicas.compute_thread import ComputeThread
from cocite_serve.replicas.embeddings import Embed, facts_of
from cocite_serve.replicas.health import HealthCheck
from cocite_serve.replicas.loaded_versions import LoadedVersions
from cocite_serve.replicas.pair_chunks import Order, PairChunks, PairJob, Reranked, pairs_asked
from cocite_serve.replicas.query_blocks import (
    FIRST_ATTEMPTS,
    QUERY_COST,
    BlockJob,
    Found,
    QueryBlocks,
    Recommend,
    Search,
    query_costs,
)
from cocite_serve.replicas.queued_stage import QueuedStage
from cocite_serve.replicas.refusals import refusals
from cocite_serve.replicas.reporting import begin_reporting
from cocite_serve.replicas.scheduler import Scheduler
from cocite_serve.replicas.steps import Work
from cocite_serve.replicas.text_pairs import Score
from cocite_serve.replicas.worker import Worker
from cocite_serve.settings import RerankerSettings, RetrieverSettings
from cocite_serve.tracing.origins import Origins
from cocite_serve.tracing.spans import answering

if TYPE_CHECKING:
    from ray.serve.handle import DeploymentHandle

    from cocite_serve.replicas.shards import ShardHandles


@dataclass(frozen=True)
class RetrievedCandidates:
    """The first stage's output and the versions that it came from.

    Example:
        A reranker accepts candidates of its own versions alone:

        >>> retrieved = RetrievedCandidates(candidates=None, versions=LoadedVersions("5f0c", "000001"))
        >>> LoadedVersions("5f0c", "000001").require_same(retrieved.versions, "retriever")
    """

    candidates: Candidates
    versions: LoadedVersions


class Retriever(QueuedStage):
    """The first stage: encode, search, expand, fuse; and the rest, where no cross-encoder reads the candidates.

    Args:
        release: model and index snapshot to load.
        shards: of the snapshot, where it is divided into shards; the retriever is ready when all of them answer.
        settings: of its queue.

    Example:
        >>> import asyncio
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), folder)
        ...     retriever = Retriever(Release(None, Path(folder), "000001"))  # on Ray Serve: a replica
        ...     query = Query(id="request", title="Neural machine translation")
        ...     retrieved = asyncio.run(retriever.retrieve(query, Options(depth=50)))
        >>> retrieved.versions
        LoadedVersions(model='', index='000001')
    """

    def __init__(
        self,
        release: Release,
        shards: ShardHandles | None = None,
        settings: RetrieverSettings | None = None,
    ) -> None:
        # Imported by the replica alone: the process that starts it, and the gateway, need no models.
        from cocite.pipeline import components
        from cocite.pipeline.first_stage import FirstStage
        from cocite.pipeline.second_stage import SecondStage
        from cocite_serve.replicas.shards import open_release

        begin_reporting("retriever")
        settings = settings or RetrieverSettings()
        thread = ComputeThread()
        # In that thread: loading asks the shards, whose handles must not be called in an event loop.
        index = thread.run_first(lambda: open_release(release, shards, wait=True))
        stage = thread.run_first(lambda: FirstStage.load(release.model, index))
        self._second = thread.run_first(lambda: SecondStage.load(release.model, index, cross_encoder=False))
        blocks, self._encoders = QueryBlocks(stage), facts_of(stage)
        worker: Worker[BlockJob, Any] = Worker(
            thread,
            blocks,
            Scheduler(
                time.monotonic,
                budget=settings.block * QUERY_COST,
                max_wait_s=settings.max_wait_s,
                pace=thread.run_first(lambda: blocks.measure(FIRST_ATTEMPTS)),
                item_cost=QUERY_COST,
            ),
            BatchMetrics("retriever").observe,
        )
        health = HealthCheck(thread, worker, blocks.measure, settings.stuck_s)
        super().__init__(worker, health, LoadedVersions(components.version(release.model), index.version))
        self._release = release

    async def release(self) -> tuple[Release, None]:
        """The release that this replica has loaded; no handle of its retriever, for it is one."""
        return self._release, None

    async def retrieve(
        self, query: Query, options: Options, seconds: float = math.inf, origins: Origins = ()
    ) -> RetrievedCandidates:
        """The candidates of one query.

        Args:
            query: one query.
            options: how many, and which papers are allowed.
            seconds: after which they are of no use any more.
            origins: the request that asks, for logs and traces; so too below.

        Raises:
            OverloadedError: it would wait too long for others.
            TimeoutError: the seconds passed before it was its turn.
        """
        search = Search(query, options)
        work = Work(1, time.monotonic() + seconds, group=search.group, costs=query_costs())
        with answering("retriever.retrieve", origins), refusals("retriever"):
            return RetrievedCandidates(await self._worker.run(search, work), self.loaded)

    async def recommend(
        self, query: Query, options: Options, seconds: float = math.inf, origins: Origins = ()
    ) -> tuple[Found, LoadedVersions]:
        """The ranked papers of one query that no cross-encoder is to read, and what they came from.

        A second replica would add nothing but the way there: candidates and papers are as many bytes as the answer.

        Args:
            query, options, seconds, origins: as of :meth:`retrieve`.

        Raises:
            OverloadedError: it would wait too long for others.
            TimeoutError: the seconds passed before it was its turn.
        """
        job = Recommend(query, options, self._second)
        work = Work(1, time.monotonic() + seconds, group=job.group, costs=query_costs())
        with answering("retriever.recommend", origins), refusals("retriever"):
            return await self._worker.run(job, work), self.loaded

    async def encoders(self) -> tuple[EncoderFacts, ...]:
        """What is known of the encoders in use."""
        return self._encoders

    async def embed(
        self, work: EmbedWork, versions: LoadedVersions, seconds: float = math.inf, origins: Origins = ()
    ) -> NDArray[np.float32]:
        """(n, d) the vectors of texts or papers, which wait beside queries, each by its tokens.

        Args:
            work: what to encode, by an encoder in use.
            versions: that the rows of papers are of.
            seconds: after which they are of no use any more.
            origins: the request that asks.

        Raises:
            InputError: a text is too long, and was to be read whole.
            NotReadyError: the replica has loaded other versions.
            OverloadedError: it would wait too long for others.
            TimeoutError: the seconds passed before all were encoded.
        """
        versions.require_same(self.loaded, "retriever")
        job = Embed(work)
        with answering("retriever.embed", origins), refusals("retriever"):
            vectors: NDArray[np.float32] = await self._worker.run(
                job, Work(work.items, time.monotonic() + seconds, group=job.group)
            )
        return vectors


class Reranker(QueuedStage):
    """The second stage: rerank and explain.

    Args:
        release: model and index snapshot to load.
        retriever: Ray Serve's handle of the same release's retriever, for the gateways that ask for it.
        shards: of the snapshot, where it is divided into shards.
        settings: of its queue.

    Attributes:
        reads: kinds of query whose candidates a cross-encoder reads.

    Example:
        >>> import asyncio
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> query, options = Query(id="request", title="Neural machine translation"), Options(top_k=3, depth=50)
        >>> async def recommend(release):
        ...     retriever = Retriever(release)  # on Ray Serve each is a replica
        ...     reranker = Reranker(release, retriever)
        ...     return await reranker.rerank(query, await retriever.retrieve(query, options), options)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), folder)
        ...     found = asyncio.run(recommend(Release(None, Path(folder), "000001")))
        >>> len(found.papers), found.papers[0].score >= found.papers[1].score
        (3, True)
    """

    def __init__(
        self,
        release: Release,
        retriever: DeploymentHandle,
        shards: ShardHandles | None = None,
        settings: RerankerSettings | None = None,
    ) -> None:
        from cocite.pipeline import components
        from cocite.pipeline.second_stage import SecondStage
        from cocite_serve.replicas.shards import open_release

        begin_reporting("reranker")
        settings = settings or RerankerSettings()
        thread = ComputeThread()
        index = thread.run_first(lambda: open_release(release, shards))
        metrics = BatchMetrics("reranker")
        chunks = thread.run_first(
            lambda: PairChunks(SecondStage.load(release.model, index), metrics.observe_padding)
        )
        pace, pair_tokens = thread.run_first(chunks.measure)
        worker: Worker[PairJob, Any] = Worker(
            thread,
            chunks,
            Scheduler(
                time.monotonic,
                budget=settings.chunk_tokens or chunks.chunk_tokens,
                max_wait_s=settings.max_wait_s,
                pace=pace,
                item_cost=pair_tokens,
                overhead_s=0.01,
            ),
            metrics.observe,
        )
        health = HealthCheck(thread, worker, chunks.measure, settings.stuck_s)
        super().__init__(worker, health, LoadedVersions(components.version(release.model), index.version))
        self.reads, self._least_read = chunks.kinds, settings.least_read
        self._cross_encoder = chunks.facts
        self._release, self._retriever = release, retriever
        self._name = uuid.uuid4().hex
        """By which a gateway tells the refusals of replicas apart."""

    async def release(self) -> tuple[Release, DeploymentHandle]:
        """The release that this replica has loaded, and the handle of that release's retriever."""
        return self._release, self._retriever

    async def kinds(self) -> tuple[str, ...]:
        """Kinds of query whose candidates a cross-encoder reads: their requests may wait long."""
        return self.reads

    async def admit(self, query: Query, options: Options, seconds: float, partial: bool, before: int) -> None:
        """Raise what :meth:`rerank` would raise now: asked before candidates are retrieved for nothing.

        Args:
            query, options, seconds, partial: as of :meth:`rerank`.
            before: pairs of other requests that are sure to come first.

        Raises:
            OverloadedError: it would wait too long for others.
        """
        with refusals("reranker", self._name):
            self._worker.admit(self._work(query, options, seconds, partial), before)

    async def rerank(
        self,
        query: Query,
        retrieved: RetrievedCandidates,
        options: Options,
        seconds: float = math.inf,
        partial: bool = False,
        origins: Origins = (),
    ) -> Reranked:
        """The ranked papers of one query.

        Args:
            query: one query.
            retrieved: its candidates.
            options: how many to read and to return.
            seconds: after which they are of no use any more.
            partial: whether the cross-encoder may read fewer, the best, to keep within the seconds.
            origins: the request that asks.

        Raises:
            NotReadyError: the candidates come from a retriever of other versions.
            OverloadedError: it would wait too long for others.
            TimeoutError: the seconds passed before all were read, and ``partial`` is false.
        """
        # A row is another paper in another snapshot.
        self.loaded.require_same(retrieved.versions, "retriever")
        with answering("reranker.rerank", origins), refusals("reranker", self._name):
            reranked: Reranked = await self._worker.run(
                Order(query, retrieved.candidates, options), self._work(query, options, seconds, partial)
            )
        return reranked

    async def cross_encoder(self) -> CrossEncoderFacts | None:
        """What is known of the cross-encoder; None where the model has none."""
        return self._cross_encoder

    async def score(
        self, work: ScoreWork, seconds: float = math.inf, origins: Origins = ()
    ) -> NDArray[np.float32]:
        """(r,) the cross-encoder's logits of texts.

        Args:
            work: a query and the texts; there is a cross-encoder.
            seconds: after which they are of no use any more.
            origins: the request that asks.

        Raises:
            InputError: a text is too long, and was to be read whole.
            OverloadedError: it would wait too long for others.
            TimeoutError: the seconds passed before all were read.
        """
        with answering("reranker.score", origins), refusals("reranker"):
            logits: NDArray[np.float32] = await self._worker.run(
                Score(work), Work(len(work.texts), time.monotonic() + seconds)
            )
        return logits

    def _work(self, query: Query, options: Options, seconds: float, partial: bool) -> Work:
        pairs = pairs_asked(self.reads, query, options)
        return Work(pairs, time.monotonic() + seconds, min(self._least_read, pairs), partial)

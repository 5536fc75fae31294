"""The two stages as Ray Serve deployments: a retriever and a reranker.

Each holds one stage object of the library and adds what serving needs: one computing thread, and a check that both
serve the same model and index. What passes between them are the library's arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cocite.pipeline.options import Candidates, Options, Recommendation
from cocite.protocols import Query
from cocite_serve.http.problems import NotReadyError
from cocite_serve.release import Release
from cocite_serve.replicas.compute_thread import ComputeThread

if TYPE_CHECKING:
    from ray.serve.handle import DeploymentHandle

    from cocite_serve.replicas.shards import ShardHandles


@dataclass(frozen=True)
class LoadedVersions:
    """Versions of the model and the index that a replica has loaded.

    Replicas of different versions never answer one request together.

    Example:
        >>> gateway = LoadedVersions(model="5f0c", index="000001")
        >>> gateway.require_same(LoadedVersions("5f0c", "000001"), "reranker")
        >>> gateway.require_same(LoadedVersions("5f0c", "000002"), "reranker")
        Traceback (most recent call last):
        ...
        cocite_serve.http.problems.NotReadyError: the reranker serves model 5f0c and index 000002, but this request
        needs model 5f0c and index 000001; a new version is being rolled out, try again
    """

    model: str
    index: str

    def require_same(self, other: LoadedVersions, deployment: str) -> None:
        """Raise when another replica has loaded other versions.

        Args:
            other: what that replica has loaded.
            deployment: its name, for the error.

        Raises:
            NotReadyError: the versions differ.
        """
        if self != other:
            raise NotReadyError(
                f"the {deployment} serves model {other.model} and index {other.index}, but this request needs model "
                f"{self.model} and index {self.index}; a new version is being rolled out, try again"
            )


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


class Retriever:
    """The first stage: encode, search, expand, fuse.

    Args:
        release: model and index snapshot to load.
        shards: of the snapshot, where it is divided into shards; the retriever is ready when all of them answer.

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

    def __init__(self, release: Release, shards: ShardHandles | None = None) -> None:
        # Imported by the replica alone: the process that starts it, and the gateway, need no models.
        from cocite.pipeline import components
        from cocite.pipeline.first_stage import FirstStage
        from cocite_serve.replicas.shards import open_release

        self._thread = ComputeThread()
        # In that thread: loading asks the shards, whose handles must not be called in an event loop.
        index = self._thread.run_first(lambda: open_release(release, shards, wait=True))
        self._stage = self._thread.run_first(lambda: FirstStage.load(release.model, index))
        self._versions = LoadedVersions(components.version(release.model), index.version)

    async def versions(self) -> LoadedVersions:
        """Versions that this replica has loaded."""
        return self._versions

    async def retrieve(self, query: Query, options: Options) -> RetrievedCandidates:
        """The candidates of one query."""
        candidates = await self._thread.run(lambda: self._stage.retrieve([query], options))
        return RetrievedCandidates(candidates, self._versions)


class Reranker:
    """The second stage: rerank and explain.

    Args:
        release: model and index snapshot to load.
        retriever: Ray Serve's handle of the same release's retriever, for the gateways that ask for it.
        shards: of the snapshot, where it is divided into shards.

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
        ...     papers = asyncio.run(recommend(Release(None, Path(folder), "000001")))
        >>> len(papers), papers[0].score >= papers[1].score
        (3, True)
    """

    def __init__(
        self, release: Release, retriever: DeploymentHandle, shards: ShardHandles | None = None
    ) -> None:
        from cocite.pipeline import components
        from cocite.pipeline.second_stage import SecondStage
        from cocite_serve.replicas.shards import open_release

        self._thread = ComputeThread()
        index = self._thread.run_first(lambda: open_release(release, shards))
        self._stage = self._thread.run_first(lambda: SecondStage.load(release.model, index))
        self._versions = LoadedVersions(components.version(release.model), index.version)
        self._release, self._retriever = release, retriever

    async def versions(self) -> LoadedVersions:
        """Versions that this replica has loaded."""
        return self._versions

    async def release(self) -> tuple[Release, DeploymentHandle]:
        """The release that this replica has loaded, and the handle of that release's retriever."""
        return self._release, self._retriever

    async def rerank(
        self, query: Query, retrieved: RetrievedCandidates, options: Options
    ) -> list[Recommendation]:
        """The ranked papers of one query.

        Raises:
            NotReadyError: the candidates come from a retriever of other versions.
        """
        # A row is another paper in another snapshot.
        self._versions.require_same(retrieved.versions, "retriever")
        rankings = await self._thread.run(lambda: self._stage.rerank([query], retrieved.candidates, options))
        return rankings[0]

"""The stages of a release as the endpoint's own process asks them golden queries, past the gateways."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any, Protocol

from cocite.pipeline.golden_answers import GoldenAnswer
from cocite.pipeline.golden_queries import OPTIONS, GoldenQueries, GoldenQuery, choose_queries
from cocite_serve.http.papers import Papers
from cocite_serve.proxy import PAUSES_S
from cocite_serve.release import Release
from cocite_serve.replicas.pair_chunks import pairs_asked


class Asked(Protocol):
    """A release that can be asked.

    Example:
        >>> class Nothing:
        ...     def kept(self): return None
        ...     def choose(self, count): return ()
        ...     def known(self, ids): return set()
        ...     def ask(self, query, seconds): return GoldenAnswer((), ())
        >>> Nothing().ask(GoldenQuery("g", "a", "Parsing"), seconds=1.0).ids
        ()
    """

    def kept(self) -> GoldenQueries | None:
        """The golden queries that its model keeps."""

    def choose(self, count: int) -> Collection[GoldenQuery]:
        """Golden queries from its index; none where that has no text to ask with."""

    def known(self, ids: Collection[str]) -> set[str]:
        """Those of some ids that its index has."""

    def ask(self, query: GoldenQuery, seconds: float) -> GoldenAnswer:
        """The answer to a query; raises what a stage raises, and TimeoutError after so many seconds."""


class AskedStages:
    """The stages of an application on Ray Serve.

    Args:
        release: that the stages have loaded.
        papers: of its index.
        retriever: Ray Serve's handle of the first stage.
        reranker: Ray Serve's handle of the second; None: the model has no cross-encoder.
        kinds: of query whose candidates the cross-encoder reads.

    Attributes:
        release: what the stages have loaded.

    Example:
        In a thread that runs no event loop, on a connected Ray::

            stages = AskedStages.open("cocite-stages-2", seconds=60)
            answer = stages.ask(query, seconds=5)

        >>> AskedStages(Release(None, "index", "000001"), None, None, None).kept() is None
        True
    """

    def __init__(
        self, release: Release, papers: Papers, retriever: Any, reranker: Any, kinds: Collection[str] = ()
    ) -> None:
        self.release, self._papers = release, papers
        self._retriever, self._reranker, self._kinds = retriever, reranker, kinds

    @classmethod
    def open(cls, app: str, seconds: float) -> AskedStages:
        """The stages of an application.

        Args:
            app: its name.
            seconds: within which they have to answer.

        Raises:
            TimeoutError: they did not.
        """
        from ray import serve

        ingress = serve.get_app_handle(app)
        release, retriever = ingress.release.remote().result(timeout_s=seconds)
        papers = Papers.open(release.index, release.index_version)
        if retriever is None:
            return cls(release, papers, ingress, None)
        kinds = ingress.kinds.remote().result(timeout_s=seconds)
        return cls(release, papers, retriever, ingress, kinds)

    def kept(self) -> GoldenQueries | None:
        """The golden queries that the model keeps; None: it keeps none, or there is no model."""
        return None if self.release.model is None else GoldenQueries.open(self.release.model)

    def choose(self, count: int) -> Collection[GoldenQuery]:
        """Golden queries from the index."""
        return choose_queries(self._papers.corpus, self._papers.alive, count)

    def known(self, ids: Collection[str]) -> set[str]:
        """Those of some ids that the index has."""
        names = list(ids)
        rows = self._papers.rows(names)
        return {name for name, row in zip(names, rows, strict=True) if row >= 0}

    def ask(self, query: GoldenQuery, seconds: float) -> GoldenAnswer:
        """The answer to a query, by the calls that a gateway makes: again, where a replica died or was removed.

        Raises:
            TimeoutError: after so many seconds.
            Exception: what a stage raised.
        """
        from ray.exceptions import RayActorError

        begin = time.monotonic()

        def left() -> float:
            return max(begin + seconds - time.monotonic(), 0.001)

        def result(call: Callable[[float], Any]) -> Any:
            for pause in PAUSES_S:
                try:
                    return call(left()).result(timeout_s=left())
                except RayActorError:
                    time.sleep(min(pause, left()))
            return call(left()).result(timeout_s=left())

        asked = query.query(self._papers.corpus)
        retriever, reranker = self._retriever, self._reranker
        if not pairs_asked(self._kinds, asked, OPTIONS):
            found, _ = result(lambda seconds: retriever.recommend.remote(asked, OPTIONS, seconds))
            return GoldenAnswer.of(found.papers, time.monotonic() - begin)
        retrieved = result(lambda seconds: retriever.retrieve.remote(asked, OPTIONS, seconds))
        reranked = result(lambda seconds: reranker.rerank.remote(asked, retrieved, OPTIONS, seconds))
        return GoldenAnswer.of(reranked.papers, time.monotonic() - begin)

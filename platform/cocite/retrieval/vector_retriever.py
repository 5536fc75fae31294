"""Nearest vectors, as a retriever: an encoder makes the queries' vectors, the index holds the papers'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Encoder, Query, Ranking
from cocite.retrieval.engines.vectors import FLAT_LIMIT
from cocite.retrieval.index.collection import last_years
from cocite.retrieval.index.index import Index
from cocite.retrieval.query_vectors import QueryVectors

POOL = 1000
"""Nearest papers that get a similarity of their own where there are too many to compare the query with each."""


class VectorRetriever(QueryVectors):
    """Retrieves papers whose vectors are near the query's (a bi-encoder).

    Args:
        index: with the encoder's vectors.
        encoder: makes the queries' vectors.

    Attributes:
        name: the encoder's.
        vectors: (N, d) of the papers.

    Raises:
        InputError: the index holds no vectors of this very encoder.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> class Years:  # an encoder for the example: papers of one year have one vector
        ...     name, id, dimension = "years", "1", 2
        ...     def encode_papers(self, corpus, rows):
        ...         return self._vectors(corpus.years[rows])
        ...     def encode_queries(self, queries):
        ...         return self._vectors(np.array([query.year for query in queries]))
        ...     def _vectors(self, years):
        ...         angles = (years - 1950) / 100
        ...         return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
        >>> index = Index.build(corpus, History.all(corpus), encoders=[Years()])
        >>> ranking = VectorRetriever(index, Years()).search([Query("q", title="A title", year=1994)], 5)
        >>> corpus.years[ranking.rows[0]]
        array([1994, 1994, 1994, 1995, 1995], dtype=int16)
    """

    def __init__(self, index: Index, encoder: Encoder) -> None:
        super().__init__(index, encoder)
        self.index, self.vectors = index, index.check_encoder(encoder)

    def over_all(self, queries: Sequence[Query], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """(Q, N) similarities of every paper, at least 0.

        In a large corpus only the :data:`POOL` nearest are compared; all others get the similarity of the last of them.
        """
        papers = len(self.index)
        if papers <= FLAT_LIMIT:
            near: NDArray[np.float32] = np.maximum(vectors @ self.vectors.aligned.T, 0)
            # A manuscript is nearest to itself; signals are scaled by a query's best paper, which must be another one.
            own = np.array([query.paper for query in queries])
            near[own != NO_ROW, own[own != NO_ROW]] = 0
            return near
        nearest = self.search_vectors(queries, vectors, POOL)
        scores = np.maximum(nearest.scores, 0)
        known = nearest.rows != NO_ROW
        floor = np.where(known, scores, np.inf).min(axis=1, keepdims=True, initial=np.inf)
        result = np.repeat(np.where(np.isfinite(floor), floor, 0).astype(np.float32), papers, axis=1)
        query, slot = np.nonzero(known)
        result[query, nearest.rows[query, slot]] = scores[query, slot]
        return result

    def similarities(self, vectors: NDArray[np.float32], rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(Q, k) the similarity of query vectors (Q, d) to given papers (Q, k); 0 at ``NO_ROW``."""
        return self.vectors.similarities(vectors, rows)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` nearest papers of each query."""
        return self.search_vectors(queries, self.encode_texts(queries), k)

    def search_vectors(self, queries: Sequence[Query], vectors: NDArray[np.float32], k: int) -> Ranking:
        """As :meth:`search`, for queries whose vectors (Q, d) are known."""
        # A query forbids few papers: retrieve that many more and drop them.
        forbidden = [
            tuple(query.exclude) + ((query.paper,) if query.paper != NO_ROW else ()) for query in queries
        ]
        ranking = self._search_allowed(queries, vectors, k + max(map(len, forbidden), default=0))
        for i, rows in enumerate(forbidden):
            if rows:
                dropped = np.isin(ranking.rows[i], rows)
                ranking.rows[i, dropped] = NO_ROW
                ranking.scores[i, dropped] = -np.inf
        return ranking.rescored(ranking.scores).top(k)

    def _search_allowed(self, queries: Sequence[Query], vectors: NDArray[np.float32], k: int) -> Ranking:
        """The ``k`` nearest papers that are not removed nor too late; queries of one limit are searched together."""
        alive = None if self.index.alive.all() else self.index.alive
        limits = last_years(queries)
        if limits is None:
            return self.vectors.search(vectors, k, alive)
        k = min(k, len(self.index))
        result = Ranking(
            np.full((len(queries), k), NO_ROW, np.int32), np.full((len(queries), k), -np.inf, np.float32)
        )
        for limit in np.unique(limits):
            of_limit = np.flatnonzero(limits == limit)
            allowed = self.index.alive & (self.index.corpus.years <= limit)
            part = self.vectors.search(vectors[of_limit], k, allowed)
            result.rows[of_limit, : part.depth], result.scores[of_limit, : part.depth] = (
                part.rows,
                part.scores,
            )
        return result

"""Nearest vectors, as a retriever: an encoder makes the queries' vectors, the index holds the papers'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, BodyReader, Encoder, ManuscriptEncoder, Query, Ranking, require_finite
from cocite.retrieval.engines.vectors import FLAT_LIMIT
from cocite.retrieval.index.index import Index, last_years

POOL = 1000
"""Nearest papers that get a similarity of their own where there are too many to compare the query with each."""


class VectorRetriever:
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
        self.index = index
        self.encoder = encoder.reading(index.corpus) if isinstance(encoder, BodyReader) else encoder
        self.vectors = index.check_encoder(encoder)
        self.name = encoder.name

    def encode(self, queries: Sequence[Query]) -> dict[str, NDArray[np.float32]]:
        """(Q, d) vectors of queries of one kind, local or global, by the name of the signal they give.

        That is the encoder's name, and ``<name>:manuscript`` too for local queries of an encoder that reads a
        manuscript otherwise than a context.
        """
        result = {self.name: self._query_vectors(queries)}
        if isinstance(self.encoder, ManuscriptEncoder) and queries and queries[0].is_local:
            result[f"{self.name}:manuscript"] = self._manuscript_vectors(self.encoder, queries)
        return result

    def _query_vectors(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        vectors = self.encoder.encode_queries(queries)
        require_finite(vectors, self.name, "vectors of queries")
        return vectors

    def _manuscript_vectors(
        self, encoder: ManuscriptEncoder, queries: Sequence[Query]
    ) -> NDArray[np.float32]:
        """(Q, d) vectors of the queries' manuscripts: the index' own, or else encoded, each once."""
        result = self.vectors.vectors([query.paper for query in queries])
        texts = [(query.title, query.abstract) for query in queries]
        unknown = {text: query for text, query in zip(texts, queries, strict=True) if query.paper == NO_ROW}
        if unknown:
            encoded = dict(zip(unknown, encoder.encode_manuscripts(list(unknown.values())), strict=True))
            for i, query in enumerate(queries):
                if query.paper == NO_ROW:
                    result[i] = encoded[texts[i]]
        require_finite(result, self.name, "vectors of manuscripts")
        return result

    def over_all(self, queries: Sequence[Query], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """(Q, N) similarities of every paper, at least 0.

        In a large corpus only the :data:`POOL` nearest are compared; all others get the similarity of the last of them.
        """
        papers = len(self.index)
        if papers <= FLAT_LIMIT:
            near: NDArray[np.float32] = np.maximum(vectors @ self.vectors.raw.T, 0)
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

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` nearest papers of each query."""
        return self.search_vectors(queries, self._query_vectors(queries), k)

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

"""Citeomatic's two phases as one ranking system: what its tables measure (sections 3 to 5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cocite.protocols import NO_ROW, Encoder, Query, Ranking, Reranker
from cocite.retrieval.index.index import Index, last_years
from cocite.retrieval.signals.neighbours import expand
from cocite.retrieval.vector_retriever import VectorRetriever

NEIGHBOURS = (1, 5, 10, 50)
"""Values of K in Table 4."""


class CiteomaticRanker:
    """NNSelect's K nearest papers and what they cite, by cosine or, with a reranker, by its score.

    Args:
        index: with the encoder's vectors; its history says what the neighbours are known to cite.
        encoder: NNSelect.
        reranker: NNRank; without it candidates are ordered by cosine.
        neighbours: K.
        expansion: whether what the neighbours cite is added.
    """

    def __init__(
        self,
        index: Index,
        encoder: Encoder,
        reranker: Reranker | None = None,
        *,
        neighbours: int = 100,
        expansion: bool = True,
    ) -> None:
        self.retriever = VectorRetriever(index, encoder)
        self.index, self.encoder, self.reranker = index, encoder, reranker
        self.neighbours, self.expansion = neighbours, expansion

    def candidates(self, queries: Sequence[Query]) -> Ranking:
        """(Q, M) the candidates of each query by falling cosine."""
        vectors = self.encoder.encode_queries(queries)
        found = self.retriever.search_vectors(queries, vectors, self.neighbours)
        if not self.expansion:
            return found
        widened = expand(found, self.index.history.cites)
        width = int(widened.degrees.max(initial=0))
        rows = np.full((len(queries), width), NO_ROW, np.int32)
        rows[np.arange(width) < widened.degrees[:, None]] = widened.indices
        for row, query in zip(rows, queries, strict=True):
            row[np.isin(row, [query.paper, *query.exclude])] = NO_ROW
        rows[(rows != NO_ROW) & ~self.index.alive[rows]] = NO_ROW
        limits = last_years(queries)
        if limits is not None:
            rows[self.index.corpus.years[rows] > limits[:, None]] = NO_ROW
        cosines = self.retriever.vectors.similarities(vectors, rows)
        return Ranking(rows, np.full(rows.shape, -np.inf, np.float32)).rescored(cosines)

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best candidates of each query; fewer when there are no more."""
        found = self.candidates(queries)
        if self.reranker is not None:
            found = found.rescored(self.reranker.score(queries, found))
        return _no_deeper_than_filled(found).top(k)


def _no_deeper_than_filled(ranking: Ranking) -> Ranking:
    """The same without columns that hold padding alone."""
    return ranking.top(int((ranking.rows != NO_ROW).sum(axis=1).max(initial=0)))

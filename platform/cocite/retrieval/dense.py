"""Nearest vectors, as a retriever: an encoder brings the queries' vectors, the index has the papers'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Encoder, Query, Ranking
from cocite.retrieval.index import Index


class VectorRetriever:
    """Finds papers whose vectors are near the query's; refuses vectors that another encoder made."""

    def __init__(self, index: Index, encoder: Encoder) -> None:
        self.index, self.encoder = index, encoder
        self.vectors = index.check_encoder(encoder)
        self.name = "vectors"

    def at(self, queries: Sequence[Query], rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(Q, k) similarities of given candidates."""
        return self.vectors.similarities(self.encoder.encode_queries(queries), rows)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` nearest papers of each query."""
        return self.search_vectors(queries, self.encoder.encode_queries(queries), k)

    def search_vectors(self, queries: Sequence[Query], vectors: NDArray[np.float32], k: int) -> Ranking:
        """As :meth:`search`, for queries whose vectors are at hand."""
        # What one query may not find is few papers: ask for that many more and drop them.
        forbidden = [
            tuple(query.exclude) + ((query.paper,) if query.paper != NO_ROW else ()) for query in queries
        ]
        most = max(map(len, forbidden), default=0)
        allowed = None if self.index.alive.all() else self.index.alive
        found = self.vectors.search(vectors, k + most, allowed)
        for i, rows in enumerate(forbidden):
            if rows:
                dropped = np.isin(found.rows[i], rows)
                found.rows[i, dropped] = NO_ROW
                found.scores[i, dropped] = -np.inf
        return found.rescored(found.scores).top(k)

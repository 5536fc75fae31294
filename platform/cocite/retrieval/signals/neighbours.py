"""Citation expansion: the papers nearest to a manuscript bring in, and vote for, what they cited (Citeomatic, 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Query, Ranking, Retriever
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.index.index import Index, found, search_dense
from cocite.retrieval.query_forms import QueryForm
from cocite.retrieval.signals.votes import Votes, count_votes, relative


class Neighbours:
    """Finds papers cited by the papers nearest to the query.

    Args:
        index: whose history is known.
        nearest: how many neighbours vote.
        by: what finds them; BM25 of all the query's text by default.
    """

    name = "neighbours"

    def __init__(self, index: Index, *, nearest: int = 50, by: Retriever | None = None) -> None:
        self.index, self.nearest = index, nearest
        self.by: Retriever = by or Bm25Retriever(index, QueryForm.CONTEXT_TITLE_ABSTRACT)

    def voters(self, queries: Sequence[Query]) -> Ranking:
        """The neighbours of each query with their weights: the score relative to the nearest's."""
        return relative(self.by.search(queries, self.nearest))

    def count(self, voters: Ranking) -> Votes:
        """What the neighbours say: sum, maximum and sum of cubes of their weights, per paper they cite."""
        return count_votes(voters, self.index.history.cites, len(self.index))

    def votes(self, queries: Sequence[Query]) -> Votes:
        """The votes of each query's neighbours."""
        return self.count(self.voters(queries))

    def scores(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, N) sums of votes; ``-inf`` where a paper may not be found."""
        return self.index.forbid(self.votes(queries).dense("sum"), queries)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` papers with most votes; a paper without a vote is not found."""
        return search_dense(queries, k, len(self.index), lambda block: found(self.scores(block)))

    def evidence(self, voters: Ranking, query: int, paper: int, limit: int = 5) -> tuple[int, ...]:
        """Rows of one query's neighbours that cite a paper, nearest first."""
        rows = voters.rows[query][voters.rows[query] != NO_ROW]
        owner, cited = self.index.history.cites.gather(rows)
        return tuple(rows[owner[cited == paper][:limit]].tolist())


def expand(neighbours: Ranking, cites: CSR) -> CSR:
    """The candidates of Citeomatic's selection: each query's neighbours and all that they cite, each once.

    Returns:
        For each query, ascending rows.
    """
    queries, slots = np.nonzero(neighbours.rows != NO_ROW)
    rows = neighbours.rows[queries, slots]
    owner, cited = cites.gather(rows)
    return CSR.build(
        np.concatenate([queries, queries[owner]]), np.concatenate([rows, cited]), len(neighbours)
    )

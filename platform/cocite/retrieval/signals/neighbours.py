"""Citation expansion: the papers nearest to a manuscript vote for what they cited.

Citeomatic (Bhagavatula et al., 2018, section 3.1) adds the papers that the neighbours cite to its candidates; here they
are scored, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Query, Ranking, Retriever
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.dense_search import keep_positive, search_dense
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.query_forms import QueryForm
from cocite.retrieval.signals.votes import Votes, count_votes, relative


class Neighbours:
    """Retrieves papers cited by the papers nearest to the query.

    Args:
        index: whose history is known.
        neighbours: how many neighbours vote.
        by: retrieves the neighbours; BM25 of all the query's text by default.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> retriever = Neighbours(Index.build(corpus, History.all(corpus)))
        >>> query = Query("q", title="neural machine translation", abstract="attention in encoder-decoder networks")
        >>> [best] = retriever.search([query], 1).rows
        >>> corpus.paper(int(best[0])).title
        'Neural Machine Translation by Jointly Learning to Align and Translate'
    """

    name = "neighbours"

    def __init__(self, index: Index, *, neighbours: int = 50, by: Retriever | None = None) -> None:
        self.index, self.neighbours = index, neighbours
        self.by: Retriever = by or Bm25Retriever(index, QueryForm.CONTEXT_TITLE_ABSTRACT)

    def nearest(self, queries: Sequence[Query]) -> Ranking:
        """(Q, neighbours) the papers nearest to each query; a weight is the score relative to the nearest one's."""
        return relative(self.by.search(queries, self.neighbours))

    def count(self, nearest: Ranking) -> Votes:
        """The votes of given neighbours, as :meth:`nearest` returns them, for the papers that they cite."""
        return count_votes(nearest, self.index.history.cites, len(self.index))

    def votes(self, queries: Sequence[Query]) -> Votes:
        """The votes of each query's neighbours."""
        return self.count(self.nearest(queries))

    def scores(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, N) sums of votes; ``-inf`` where a query may not retrieve a paper."""
        return self.index.forbid(self.votes(queries).dense("sum"), queries)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` papers with most votes; a paper without a vote is not retrieved."""
        return search_dense(queries, k, len(self.index), lambda block: keep_positive(self.scores(block)))


def citing_neighbours(
    index: SearchIndex, nearest: Ranking, query: int, paper: int, limit: int = 5
) -> tuple[int, ...]:
    """Rows of one query's neighbours that cite a paper, nearest first.

    Args:
        index: whose history knows what they cite.
        nearest: (Q, k) rows of neighbours, nearest first.
        query: position of the query in it.
        paper: the recommended row.
        limit: how many at most.
    """
    rows = nearest.rows[query][nearest.rows[query] != NO_ROW]
    owner, cited = index.history.cites.gather(rows)
    return tuple(rows[owner[cited == paper][:limit]].tolist())


def expand(neighbours: Ranking, cites: CSR) -> CSR:
    """The candidates of Citeomatic's selection: each query's neighbours and all that they cite, each once.

    Args:
        neighbours: (Q, K) rows.
        cites: the papers that each paper is known to cite.

    Returns:
        For each query, ascending rows.

    Example:
        >>> neighbours = Ranking(np.array([[4, 2]], np.int32), np.ones((1, 2), np.float32))
        >>> expand(neighbours, CSR.build([2, 4, 4], [0, 0, 1], 5))[0]
        array([0, 1, 2, 4], dtype=int32)
    """
    queries, slots = np.nonzero(neighbours.rows != NO_ROW)
    rows = neighbours.rows[queries, slots]
    owner, cited = cites.gather(rows)
    return CSR.build(
        np.concatenate([queries, queries[owner]]), np.concatenate([rows, cited]), len(neighbours)
    )

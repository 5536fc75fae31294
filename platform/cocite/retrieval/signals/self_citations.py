"""The links and contexts of a query's own paper, so that they can be subtracted from every count.

When a manuscript is in the corpus, its own links and contexts must not vote for what they cite: they are the answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.signals.sparse_scores import SparseScores


class SelfCitations:
    """The known links and contexts of the queries' own papers.

    Args:
        index: whose history knows them.
        queries: Q queries.

    Attributes:
        papers: (Q,) each query's own row, 0 where it has none.
        present: (Q,) whether it has one.
        links: (Q, N) 1 where a query's own paper is known to cite a paper.
        begin, end: (Q,) its contexts are the documents ``begin : end`` of ``index.contexts``.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(corpus, History.all(corpus))
        >>> own = SelfCitations(index, [Query("known", paper=400), Query("unknown", title="A manuscript")])
        >>> len(own.links.of(0)[0]), len(own.links.of(1)[0]), len(corpus.cites[400])
        (20, 0, 20)
    """

    def __init__(self, index: SearchIndex, queries: Sequence[Query]) -> None:
        own = np.array(
            [query.paper for query in queries], np.int32
        )  # as the contexts' papers: none is converted
        self.index = index
        self.present = own != NO_ROW
        self.papers = np.maximum(own, 0)
        self.begin = np.searchsorted(index.context_papers, own, "left")
        self.end = np.where(self.present, np.searchsorted(index.context_papers, own, "right"), self.begin)
        within = np.flatnonzero(self.present)
        owner, cited = index.history.cites.gather(own[within])
        self._shape = (len(queries), len(index))
        self.links = SparseScores.sum(within[owner], cited, np.ones(len(cited)), self._shape)

    def contexts(self) -> SparseScores:
        """(Q, N) how many of its own paper's contexts cite a paper."""
        counts = self.end - self.begin
        query = np.repeat(np.arange(len(counts)), counts)
        first = np.repeat(self.begin - np.cumsum(counts) + counts, counts)
        owner, cited = self.index.cited_by_context.gather(first + np.arange(len(query)))
        return SparseScores.sum(query[owner], cited, np.ones(len(cited)), self._shape)

    def contexts_cited(self, query: int) -> CSR:
        """For each context of one query's own paper, the papers that it cites."""
        return self.index.cited_by_context.part(int(self.begin[query]), int(self.end[query]))

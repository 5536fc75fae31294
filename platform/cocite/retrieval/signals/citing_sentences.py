"""The citing-sentence retriever: historical sentences that resemble the query vote for what they cited.

No model is trained: BM25 over the history's citation contexts ranks those nearest to a gap (or to title and abstract
when there is no gap). The pipeline shows an author the same sentences as evidence. The contexts of the query's own
paper never vote.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Query, Ranking
from cocite.retrieval.dense_search import keep_positive, search_dense
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.query_forms import sentence_texts
from cocite.retrieval.signals.votes import Votes, count_votes, relative


class CitingSentences:
    """Retrieves papers by the sentences that cited them.

    Args:
        index: what is searched.
        sentences: how many sentences vote.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.records import ContextRecord, PaperRecord
        >>> records = [
        ...     PaperRecord("cky", "A recognition procedure"),
        ...     PaperRecord("new", "A parser", citations=("cky",)),
        ...     ContextRecord("c", "new", ("cky",), "a chart parser TARGETCIT fills its table bottom up"),
        ... ]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build(records, f"{folder}/corpus")
        ...     retriever = CitingSentences(Index.build(corpus, History.all(corpus)))
        ...     query = Query("q", context="we fill the chart bottom up [CIT]")
        ...     rows = retriever.search([query], 1).rows[0]
        ...     corpus.ids(rows), citing_sentences(retriever.index, retriever.nearest([query]), 0, int(rows[0]))
        (['cky'], ((1, 'a chart parser TARGETCIT fills its table bottom up'),))
    """

    name = "citing-sentences"

    def __init__(self, index: Index, *, sentences: int = 100) -> None:
        self.index, self.sentences = index, sentences

    def nearest(self, queries: Sequence[Query]) -> Ranking:
        """(Q, sentences) the nearest documents of ``index.contexts`` to each query, and their weights.

        A weight is BM25 relative to the query's best sentence; sentences that share no word do not vote.
        """
        texts, papers = sentence_texts(queries), self.index.context_papers
        own = np.array([query.paper for query in queries], np.int32)
        # Contexts are in order of their paper, so a paper's own are a range.
        begin, end = np.searchsorted(papers, own, "left"), np.searchsorted(papers, own, "right")
        parts = []
        for start, scores in self.index.contexts.blocks(texts):
            for i, row in enumerate(scores, start):
                row[begin[i] : end[i]] = -np.inf
            parts.append(Ranking.best(scores, self.sentences))
        if not parts:
            shape = (0, self.sentences)
            return Ranking(np.empty(shape, np.int32), np.empty(shape, np.float32))
        best = Ranking(np.concatenate([p.rows for p in parts]), np.concatenate([p.scores for p in parts]))
        return relative(best)

    def count(self, nearest: Ranking) -> Votes:
        """The votes of given sentences, as :meth:`nearest` returns them, for the papers that they cite."""
        return count_votes(nearest, self.index.cited_by_context, len(self.index))

    def votes(self, queries: Sequence[Query]) -> Votes:
        """The votes of each query's nearest sentences."""
        return self.count(self.nearest(queries))

    def scores(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, N) sums of votes; ``-inf`` where a query may not retrieve a paper."""
        return self.index.forbid(self.votes(queries).dense("sum"), queries)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` papers with most votes; a paper without a vote is not retrieved."""
        return search_dense(queries, k, len(self.index), lambda block: keep_positive(self.scores(block)))


def citing_sentences(
    index: SearchIndex, nearest: Ranking, query: int, paper: int, limit: int = 3
) -> tuple[tuple[int, str], ...]:
    """The nearest sentences of one query that cite a paper: ``(citing row, context)``, nearest first.

    Args:
        index: whose contexts they are.
        nearest: (Q, k) documents of its contexts, nearest first.
        query: position of the query in it.
        paper: the recommended row.
        limit: how many at most.
    """
    documents = nearest.rows[query][nearest.rows[query] != NO_ROW]
    owner, cited = index.cited_by_context.gather(documents)
    chosen = documents[owner[cited == paper][:limit]]
    texts = index.corpus.contexts.take("text", index.history.context_positions(chosen))
    return tuple(zip(index.context_papers[chosen].tolist(), texts, strict=True))

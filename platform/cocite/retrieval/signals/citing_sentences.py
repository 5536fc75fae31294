"""The citing-sentence retriever: sentences of the past that resemble the query's vote for what they cited.

No model is trained: an index of the history's citation contexts finds the nearest to a gap (or to title and abstract
when there is no gap). Those sentences are also the evidence that an author is shown. A paper's own contexts never
vote for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Query, Ranking
from cocite.retrieval.index.index import Index, found, search_dense
from cocite.retrieval.query_forms import sentence_texts
from cocite.retrieval.signals.votes import Votes, count_votes, relative


class CitingSentences:
    """Finds papers by the sentences that cited them.

    Args:
        index: what is searched.
        nearest: how many sentences vote.
    """

    name = "citing-sentences"

    def __init__(self, index: Index, *, nearest: int = 100) -> None:
        self.index, self.nearest = index, nearest

    def voters(self, queries: Sequence[Query]) -> Ranking:
        """The nearest sentences of each query: (Q, nearest) documents of ``index.contexts`` and their weights.

        A weight is BM25 relative to the query's best sentence; sentences that share no word do not vote.
        """
        texts, papers = sentence_texts(queries), self.index.context_papers
        own = np.array([query.paper for query in queries], np.int64)
        # Contexts are in order of their paper, so a paper's own are a range.
        begin, end = np.searchsorted(papers, own, "left"), np.searchsorted(papers, own, "right")
        parts = []
        for start, scores in self.index.contexts.blocks(texts):
            for i, row in enumerate(scores, start):
                row[begin[i] : end[i]] = -np.inf
            parts.append(Ranking.best(scores, self.nearest))
        if not parts:
            return Ranking(np.empty((0, self.nearest), np.int32), np.empty((0, self.nearest), np.float32))
        best = Ranking(np.concatenate([p.rows for p in parts]), np.concatenate([p.scores for p in parts]))
        return relative(best)

    def count(self, voters: Ranking) -> Votes:
        """What the sentences say: sum, maximum and sum of cubes of their weights, per paper they cite."""
        return count_votes(voters, self.index.ballots, len(self.index))

    def votes(self, queries: Sequence[Query]) -> Votes:
        """The votes of each query's nearest sentences."""
        return self.count(self.voters(queries))

    def scores(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, N) sums of votes; ``-inf`` where a paper may not be found."""
        return self.index.forbid(self.votes(queries).dense("sum"), queries)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` papers with most votes; a paper without a vote is not found."""
        return search_dense(queries, k, len(self.index), lambda block: found(self.scores(block)))

    def evidence(
        self, voters: Ranking, query: int, paper: int, limit: int = 3
    ) -> tuple[tuple[int, str], ...]:
        """The nearest sentences of one query that cite a paper: ``(citing row, context)``, nearest first.

        Args:
            voters: what :meth:`voters` gave.
            query: which of its queries.
            paper: the recommended row.
            limit: how many at most.
        """
        documents = voters.rows[query][voters.rows[query] != NO_ROW]
        owner, cited = self.index.ballots.gather(documents)
        chosen = documents[owner[cited == paper][:limit]]
        texts = self.index.corpus.contexts.take("text", self.index.history.contexts[chosen])
        return tuple(zip(self.index.context_papers[chosen].tolist(), texts, strict=True))

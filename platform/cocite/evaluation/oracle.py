"""Measuring a retriever with a reranker behind it: oracle candidates, and many depths at the cost of the greatest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Query, Ranking, Reranker


def with_relevant(ranking: Ranking, relevant: CSR) -> Ranking:
    """The candidates with every relevant paper among them (the "oracle" of HAtten, section 5).

    A relevant paper that was not retrieved takes the place of the last candidate that is not relevant, so that the
    number of candidates stays and what a reranker has to order is as hard as before.

    Args:
        ranking: (Q, k), best first.
        relevant: what each query cites; a query that cites more than ``k`` papers gets the first ``k`` of them.
    """
    rows, scores = ranking.rows.copy(), ranking.scores.copy()
    width = rows.shape[1]
    for i in range(len(ranking)):
        cited = relevant[i]
        is_cited = np.isin(rows[i], cited)
        missing = cited[~np.isin(cited, rows[i])][: width - int(is_cited.sum())]
        places = np.flatnonzero(~is_cited)[::-1][: len(missing)]
        rows[i, places] = missing[: len(places)]
        scores[i, places] = scores[i][np.isfinite(scores[i])].min(initial=0) - 1
    return Ranking(rows, scores)


def reordered(ranking: Ranking, scores: NDArray[np.float32], depth: int) -> Ranking:
    """The first ``depth`` candidates by other scores (Q, >= depth), the rest behind them as it was."""
    return ranking.top(depth).rescored(scores[:, :depth]).followed_by(ranking.after(depth))


class Remembered:
    """A reranker that scores no pair twice: so a table over depths costs what its deepest column costs.

    Scores of a query are told by its id: give it the queries of one task only.
    """

    def __init__(self, reranker: Reranker) -> None:
        self.reranker, self.name = reranker, reranker.name
        self._known: dict[str, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}
        self.scored = 0

    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """(Q, k) scores; pairs that were scored before are looked up."""
        rows = candidates.rows
        result = np.full(rows.shape, -np.inf, np.float32)
        known = np.zeros(rows.shape, bool)
        for i, query in enumerate(queries):
            if query.id in self._known:
                papers, scores = self._known[query.id]
                at = np.minimum(np.searchsorted(papers, rows[i]), len(papers) - 1)
                known[i] = papers[at] == rows[i]
                result[i, known[i]] = scores[at[known[i]]]
        asked = ~known & (rows != NO_ROW)
        if asked.any():
            width = int(asked.sum(axis=1).max())
            order = np.argsort(~asked, axis=1, kind="stable")[:, :width]
            some = np.take_along_axis(np.where(asked, rows, NO_ROW), order, 1)
            fresh = self.reranker.score(queries, Ranking(some, np.zeros(some.shape, np.float32)))
            self.scored += int((some != NO_ROW).sum())
            for i, query in enumerate(queries):
                real = some[i] != NO_ROW
                self._remember(query.id, some[i, real], fresh[i, real])
            result[asked] = fresh[some != NO_ROW]
        return result

    def _remember(self, query: str, rows: NDArray[np.int32], scores: NDArray[np.float32]) -> None:
        old = self._known.get(query)
        if old is not None:
            rows, scores = np.concatenate([old[0], rows]), np.concatenate([old[1], scores])
        if len(rows):
            order = np.argsort(rows)
            self._known[query] = rows[order], scores[order]

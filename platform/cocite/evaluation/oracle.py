"""Measuring a reranker: oracle candidates, and many depths at the cost of the greatest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Query, Ranking, Reranker


def add_relevant(ranking: Ranking, relevant: CSR) -> Ranking:
    """The candidates with every relevant paper among them (the "oracle" of HAtten, section 5).

    A relevant paper that was not retrieved takes the place of the last candidate that is not relevant, so that the
    number of candidates stays and what a reranker has to order is as hard as before.

    Args:
        ranking: (Q, k), best first.
        relevant: the papers that each query cites; of more than ``k``, the first ``k`` are added.

    Example:
        >>> ranking = Ranking(np.array([[4, 7, 9]], np.int32), np.array([[3, 2, 1]], np.float32))
        >>> add_relevant(ranking, CSR.build([0, 0], [5, 7], 1)).rows
        array([[4, 7, 5]], dtype=int32)
    """
    rows, scores = ranking.rows.copy(), ranking.scores.copy()
    width = rows.shape[1]
    for i in range(len(ranking)):
        cited = relevant[i]
        is_cited = np.isin(rows[i], cited)
        missing = cited[~np.isin(cited, rows[i])][: width - int(is_cited.sum())]
        last = np.flatnonzero(~is_cited)[::-1][: len(missing)]
        rows[i, last] = missing[: len(last)]
        scores[i, last] = scores[i][np.isfinite(scores[i])].min(initial=0) - 1
    return Ranking(rows, scores)


def rerank_head(ranking: Ranking, scores: NDArray[np.float32], depth: int) -> Ranking:
    """Reorder the first ``depth`` candidates by other scores; the rest stays behind them in its order.

    Args:
        ranking: (Q, k).
        scores: (Q, >= depth) of its first candidates.
        depth: how many are reordered.

    Example:
        >>> ranking = Ranking(np.array([[4, 7, 9]], np.int32), np.array([[3, 2, 1]], np.float32))
        >>> rerank_head(ranking, np.array([[0.1, 0.9, 0.5]], np.float32), 2).rows
        array([[7, 4, 9]], dtype=int32)
    """
    return ranking.top(depth).rescored(scores[:, :depth]).followed_by(ranking.after(depth))


class CachedReranker:
    """A reranker that scores no pair twice, so that a table over depths costs what its deepest column costs.

    Scores are cached by the query's id: all queries must be of one task.

    Args:
        reranker: computes the scores.

    Attributes:
        scored: how many pairs it has scored.

    Example:
        >>> class ByRow:
        ...     name = "by-row"
        ...     def score(self, queries, candidates):
        ...         return candidates.rows.astype(np.float32)
        >>> cached, query = CachedReranker(ByRow()), Query("q")
        >>> deep = Ranking(np.array([[4, 7, 9]], np.int32), np.zeros((1, 3), np.float32))
        >>> for depth in (2, 3, 3):
        ...     _ = cached.score([query], deep.top(depth))
        >>> cached.scored
        3
    """

    def __init__(self, reranker: Reranker) -> None:
        self.reranker, self.name = reranker, reranker.name
        self._cache: dict[str, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}
        self.scored = 0

    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """(Q, k) scores; pairs that were scored before are taken from the cache."""
        rows = candidates.rows
        result = np.full(rows.shape, -np.inf, np.float32)
        known = np.zeros(rows.shape, bool)
        for i, query in enumerate(queries):
            if query.id in self._cache:
                papers, scores = self._cache[query.id]
                position = np.minimum(np.searchsorted(papers, rows[i]), len(papers) - 1)
                known[i] = papers[position] == rows[i]
                result[i, known[i]] = scores[position[known[i]]]
        missing = ~known & (rows != NO_ROW)
        if missing.any():
            width = int(missing.sum(axis=1).max())
            order = np.argsort(~missing, axis=1, kind="stable")[:, :width]
            pairs = np.take_along_axis(np.where(missing, rows, NO_ROW), order, 1)
            scored = self.reranker.score(queries, Ranking(pairs, np.zeros(pairs.shape, np.float32)))
            self.scored += int((pairs != NO_ROW).sum())
            for i, query in enumerate(queries):
                real = pairs[i] != NO_ROW
                self._store(query.id, pairs[i, real], scored[i, real])
            result[missing] = scored[pairs != NO_ROW]
        return result

    def _store(self, query: str, rows: NDArray[np.int32], scores: NDArray[np.float32]) -> None:
        old = self._cache.get(query)
        if old is not None:
            rows, scores = np.concatenate([old[0], rows]), np.concatenate([old[1], scores])
        if len(rows):
            order = np.argsort(rows)
            self._cache[query] = rows[order], scores[order]

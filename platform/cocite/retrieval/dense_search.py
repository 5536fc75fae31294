"""Ranking by dense scores: a score of every paper for every query, a block of queries at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import Query, Ranking

CELLS = 16_000_000
"""Scores held at a time: 64 MB of float32."""


def search_dense(
    queries: Sequence[Query], k: int, papers: int, scores: Callable[[Sequence[Query]], NDArray[np.float32]]
) -> Ranking:
    """Rank by dense scores, in blocks of queries that keep the scores within 64 MB.

    Args:
        queries: Q queries.
        k: depth of the ranking.
        papers: N.
        scores: computes the (q, N) scores of a block, ``-inf`` where a paper is forbidden.

    Returns:
        (Q, min(k, N)) the best papers of each query; equal scores in order of the row.

    Example:
        >>> queries = [Query("a"), Query("b")]
        >>> search_dense(queries, 2, 3, lambda block: np.array([[0.1, 0.9, 0.5]] * len(block), np.float32)).rows
        array([[1, 2],
               [1, 2]], dtype=int32)
    """
    step = int(np.clip(CELLS // max(papers, 1), 1, 256))
    parts = [Ranking.best(scores(queries[i : i + step]), k) for i in range(0, len(queries), step)]
    if not parts:
        return Ranking(np.empty((0, min(k, papers)), np.int32), np.empty((0, min(k, papers)), np.float32))
    return Ranking(np.concatenate([p.rows for p in parts]), np.concatenate([p.scores for p in parts]))


def keep_positive(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Set to ``-inf``, in place, every score that is not positive: what shares nothing with a query has no rank.

    Example:
        >>> keep_positive(np.array([[0.5, 0.0, -1.0]]))
        array([[ 0.5, -inf, -inf]])
    """
    scores[scores <= 0] = -np.inf
    return scores

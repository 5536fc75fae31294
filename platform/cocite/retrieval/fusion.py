"""Fusing retrievers: several rankings, or several dense scores, into one.

Rankings are fused over the union of their papers; one that a ranking does not hold gets nothing from it. Dense scores
(Q, N) are simply added up, weighted. The weights of either are learned on queries whose answers are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.protocols import NO_ROW, Query, Ranking, Retriever


def reciprocal_rank(rankings: Sequence[Ranking], k: int, *, constant: float = 60.0) -> Ranking:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): the sum of ``1 / (constant + rank)``, from 1."""
    values = [
        np.broadcast_to(1.0 / (constant + 1.0 + np.arange(ranking.depth)), ranking.rows.shape)
        for ranking in rankings
    ]
    return _union([ranking.rows for ranking in rankings], values, k)


def weighted_sum(rankings: Sequence[Ranking], weights: Sequence[float], k: int) -> Ranking:
    """The weighted sum of scores, each divided by the query's best of that ranking."""
    if len(weights) != len(rankings):
        raise InputError(f"{len(weights)} weights for {len(rankings)} rankings")
    values = [
        weight * np.where(ranking.rows == NO_ROW, 0, max_normalised(ranking.scores))
        for ranking, weight in zip(rankings, weights, strict=True)
    ]
    return _union([ranking.rows for ranking in rankings], values, k)


def max_normalised(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores (Q, n) divided by each row's best; ``-inf`` stays, and a row without a positive score becomes 0."""
    best = scores.max(axis=1, keepdims=True, initial=0.0)
    result: NDArray[np.float32] = np.divide(scores, best, out=np.zeros_like(scores), where=best > 0)
    result[np.isneginf(scores)] = -np.inf
    return result


def _union(rows: Sequence[NDArray[np.int32]], values: Sequence[NDArray[np.floating]], k: int) -> Ranking:
    """Sum the values of each (query, paper) over all rankings, and rank; equal sums in order of the row."""
    if not rows:
        raise InputError("there is nothing to fuse")
    queries = len(rows[0])
    papers, sums = np.concatenate(rows, axis=1), np.concatenate(values, axis=1)
    owner, slot = np.nonzero(papers != NO_ROW)
    width = int(papers.max(initial=0)) + 1
    keys, inverse = np.unique(owner * np.int64(width) + papers[owner, slot], return_inverse=True)
    total = np.bincount(inverse, sums[owner, slot], minlength=len(keys)).astype(np.float32)
    owner, paper = keys // width, keys % width
    order = np.lexsort((paper, -total, owner))
    starts = np.searchsorted(owner, np.arange(queries))
    place = np.arange(len(order)) - starts[owner[order]]
    order, place = order[place < k], place[place < k]
    result = Ranking(np.full((queries, k), NO_ROW, np.int32), np.full((queries, k), -np.inf, np.float32))
    result.rows[owner[order], place] = paper[order]
    result.scores[owner[order], place] = total[order]
    return result


def mean_reciprocal_rank(scores: NDArray[np.floating], relevant: NDArray[np.bool_]) -> float:
    """MRR of candidates (Q, n) ordered by score; equal scores share the worst place, a query without answer gets 0."""
    best = np.where(relevant, scores, -np.inf).max(axis=1, keepdims=True)
    ahead = ((scores >= best) & ~relevant).sum(axis=1)
    return float(np.where(relevant.any(axis=1), 1.0 / (1 + ahead), 0.0).mean())


def learn_weights(
    signals: NDArray[np.floating],
    relevant: NDArray[np.bool_],
    *,
    measure: Callable[[NDArray[np.floating], NDArray[np.bool_]], float] = mean_reciprocal_rank,
    rounds: int = 4,
) -> NDArray[np.float64]:
    """Non-negative weights of signals, by coordinate search on a measure.

    Each weight in turn takes the best of a grid of factors, over and over with finer grids. The measure
    jumps, so no gradient would help; with a handful of signals and some thousand queries this takes seconds.

    Args:
        signals: (Q, n, S) of n candidates a query; best normalised, so that the weights compare.
        relevant: (Q, n) which candidates are answers.
        measure: of scores (Q, n) and ``relevant``; greater is better.
        rounds: how often all weights are visited.

    Returns:
        (S,) weights whose greatest is 1.
    """
    count = signals.shape[2]
    # Start from the best single signal: a weight only grows from nothing where it helps.
    alone = [measure(signals[:, :, i], relevant) for i in range(count)]
    weights = np.zeros(count)
    weights[int(np.argmax(alone))] = 1.0
    best, scores = max(alone), signals @ weights
    for turn in range(rounds):
        grid = (
            np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
            if turn == 0
            else 2.0 ** (np.array([-2, -1, 1, 2]) / turn)
        )
        for i in range(count):
            scale = weights.max() if turn == 0 or weights[i] == 0 else weights[i]
            base, chosen = scores - weights[i] * signals[:, :, i], weights[i]
            for candidate in [0.0, *(scale * grid)]:
                value = measure(base + candidate * signals[:, :, i], relevant)
                if value > best:
                    best, chosen = value, candidate
            weights[i] = chosen
            scores = base + chosen * signals[:, :, i]
    return weights / weights.max() if weights.max() > 0 else weights


class FusedRetriever:
    """Several retrievers as one.

    Args:
        retrievers: what is fused.
        weights: of their normalised scores; None fuses by reciprocal rank.
        depth: how many papers each is asked for, at least.
    """

    def __init__(
        self, retrievers: Sequence[Retriever], weights: Sequence[float] | None = None, *, depth: int = 1000
    ) -> None:
        if weights is not None and len(weights) != len(retrievers):
            raise InputError(f"{len(weights)} weights for {len(retrievers)} retrievers")
        self.retrievers, self.weights, self.depth = list(retrievers), weights, depth
        self.name = "fused:" + "+".join(retriever.name for retriever in retrievers)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query."""
        rankings = [retriever.search(queries, max(k, self.depth)) for retriever in self.retrievers]
        if self.weights is None:
            return reciprocal_rank(rankings, k)
        return weighted_sum(rankings, self.weights, k)

"""From all candidates to the few that a costly model reads, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Ranking

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The best candidates of each query by one stage.

    Attributes:
        places: (Q, r) their columns among all candidates, best first.
        ranking: (Q, r) their rows and that stage's scores.
        depth: columns of all candidates.
    """

    places: NDArray[np.int64]
    ranking: Ranking
    depth: int

    @classmethod
    def best(cls, rows: NDArray[np.int32], scores: Matrix, count: int) -> Narrowed:
        """The ``count`` best of the candidates (Q, k); padding comes last."""
        order = np.argsort(-np.where(rows == NO_ROW, -np.inf, scores), axis=1, kind="stable")[:, :count]
        ranking = Ranking(np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1))
        return cls(order, ranking, rows.shape[1])

    def take(self, signals: Mapping[str, Matrix]) -> dict[str, Matrix]:
        """Of signals (Q, k) what they say of the chosen: (Q, r)."""
        return {name: np.take_along_axis(values, self.places, 1) for name, values in signals.items()}

    def spread(self, scores: Matrix) -> Matrix:
        """(Q, k) scores of the chosen in their places, NaN elsewhere."""
        result = np.full((len(scores), self.depth), np.nan, np.float32)
        np.put_along_axis(result, self.places, scores, 1)
        return result

    def ahead(self, scores: Matrix, others: Matrix) -> Matrix:
        """(Q, k) the chosen by new scores (Q, r), and below them all others in the order of old ones (Q, k)."""
        real = self.ranking.rows != NO_ROW
        lowest = np.where(real, scores, np.inf).min(axis=1, keepdims=True, initial=np.inf)
        below = np.array(others, np.float32)
        np.put_along_axis(below, self.places, np.float32(-np.inf), 1)
        highest = below.max(axis=1, keepdims=True, initial=-np.inf)
        shift = np.where(np.isfinite(lowest) & np.isfinite(highest), lowest - 1 - highest, 0)
        result = (below + shift).astype(np.float32)
        np.put_along_axis(result, self.places, scores, 1)
        return result


def standing(name: str, scores: Matrix) -> dict[str, Matrix]:
    """What a score says of a candidate: itself, how far it is behind the query's best, and its rank from 0.

    NaN marks padding, which has no score, is behind by nothing known, and ranks last.
    """
    known = ~np.isnan(scores)
    best = np.where(known, scores, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    order = np.argsort(-np.where(known, scores, -np.inf), axis=1, kind="stable")
    ranks = np.empty(scores.shape, np.float32)
    np.put_along_axis(ranks, order, np.arange(scores.shape[1], dtype=np.float32)[None], 1)
    with np.errstate(invalid="ignore"):
        return {name: scores, f"{name}/gap": (best - scores).astype(np.float32), f"{name}/rank": ranks}


def weighted(first: Matrix, second: Matrix, weight: float) -> Matrix:
    """(Q, r) ``1 - weight`` of one score and ``weight`` of another, each standardised within its query.

    NaN in the second marks padding and stays.
    """
    known = ~np.isnan(second)
    result = (1 - weight) * _standardised(first, known) + weight * _standardised(second, known)
    return np.where(known, result, np.nan).astype(np.float32)


def _standardised(scores: Matrix, known: NDArray[np.bool_]) -> Matrix:
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    centred = np.where(known, scores, 0)
    centred = np.where(known, centred - centred.sum(axis=1, keepdims=True) / count, 0)
    deviation = np.sqrt(np.square(centred).sum(axis=1, keepdims=True) / count)
    result: Matrix = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)
    return result.astype(np.float32)

"""The few best of all candidates, which a costly model reads, and how its scores are merged with the others'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Ranking, shift_below

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TopCandidates:
    """The best candidates of each query by the scores of one stage.

    Attributes:
        columns: (Q, r) their columns among all candidates, best first.
        ranking: (Q, r) their rows and that stage's scores.
        depth: number of all candidates, k.

    Example:
        >>> rows = np.array([[10, 11, 12]], np.int32)
        >>> fusion = np.array([[0.2, 0.9, 0.4]], np.float32)
        >>> top = TopCandidates.select(rows, fusion, count=2)
        >>> top.ranking.rows.tolist()
        [[11, 12]]
        >>> cross_encoder = np.array([[1.0, 3.0]], np.float32)  # reverses the two
        >>> top.merge(cross_encoder, fusion).tolist()
        [[0.0, 1.0, 3.0]]
    """

    columns: NDArray[np.int64]
    ranking: Ranking
    depth: int

    @classmethod
    def select(cls, rows: NDArray[np.int32], scores: Matrix, count: int) -> TopCandidates:
        """Select the ``count`` best of the candidates (Q, k) by their scores (Q, k); padding comes last."""
        order = np.argsort(-np.where(rows == NO_ROW, -np.inf, scores), axis=1, kind="stable")[:, :count]
        ranking = Ranking(np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1))
        return cls(order, ranking, rows.shape[1])

    def gather(self, signals: Mapping[str, Matrix]) -> dict[str, Matrix]:
        """The values (Q, r) of the selected candidates from signals (Q, k) of all."""
        return {name: np.take_along_axis(values, self.columns, 1) for name, values in signals.items()}

    def scatter(self, scores: Matrix) -> Matrix:
        """(Q, k) the scores (Q, r) of the selected candidates in their columns, NaN in the others."""
        result = np.full((len(scores), self.depth), np.nan, np.float32)
        np.put_along_axis(result, self.columns, scores, 1)
        return result

    def merge(self, scores: Matrix, others: Matrix) -> Matrix:
        """(Q, k) new scores (Q, r) of the selected candidates, and below them the other candidates in their old order.

        The old scores ``others`` (Q, k) are shifted: see :func:`~cocite.protocols.shift_below`.
        """
        rest = np.array(others, np.float32)
        np.put_along_axis(rest, self.columns, np.float32(-np.inf), 1)
        head = np.where(self.ranking.rows == NO_ROW, -np.inf, scores)
        result = shift_below(rest, head)
        np.put_along_axis(result, self.columns, scores, 1)
        return result


def rank_features(name: str, scores: Matrix) -> dict[str, Matrix]:
    """Three signals of a score (Q, r): itself, its distance from the query's best, and its rank from 0.

    NaN marks padding, whose distance is NaN and which ranks last.

    Example:
        >>> features = rank_features("fusion", np.array([[1.0, 3.0, np.nan]], np.float32))
        >>> {name: values.tolist() for name, values in features.items()}
        {'fusion': [[1.0, 3.0, nan]], 'fusion/gap': [[2.0, 0.0, nan]], 'fusion/rank': [[1.0, 0.0, 2.0]]}
    """
    known = ~np.isnan(scores)
    best = np.where(known, scores, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    order = np.argsort(-np.where(known, scores, -np.inf), axis=1, kind="stable")
    ranks = np.empty(scores.shape, np.float32)
    np.put_along_axis(ranks, order, np.arange(scores.shape[1], dtype=np.float32)[None], 1)
    with np.errstate(invalid="ignore"):
        return {name: scores, f"{name}/gap": (best - scores).astype(np.float32), f"{name}/rank": ranks}


def combine_standardised(first: Matrix, second: Matrix, weight: float) -> Matrix:
    """(Q, r) ``1 - weight`` times one score plus ``weight`` times another, each standardised within its query.

    NaN in the second marks padding and stays.

    Example:
        >>> fusion, cross_encoder = np.array([[1.0, 3.0]], np.float32), np.array([[-7.0, -9.0]], np.float32)
        >>> combine_standardised(fusion, cross_encoder, weight=0.25).tolist()
        [[-0.5, 0.5]]
    """
    known = ~np.isnan(second)
    result = (1 - weight) * _standardise(first, known) + weight * _standardise(second, known)
    return np.where(known, result, np.nan).astype(np.float32)


def _standardise(scores: Matrix, known: NDArray[np.bool_]) -> Matrix:
    """(Q, r) scores of mean 0 and standard deviation 1 over the known ones of each query; 0 where all are equal."""
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    centred = np.where(known, scores, 0)
    centred = np.where(known, centred - centred.sum(axis=1, keepdims=True) / count, 0)
    deviation = np.sqrt(np.square(centred).sum(axis=1, keepdims=True) / count)
    result: Matrix = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)
    return result.astype(np.float32)

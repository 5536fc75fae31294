"""Ranking metrics as formulas on arrays: precision, recall, F1 and reciprocal rank, each in one place.

A ranking of Q queries is given as *hits*, a matrix (Q, k) that says whether each candidate is relevant, best candidate
first, and *counts* (Q,), the number of papers that are relevant to each query, retrieved or not. Both are all that
these metrics need. A run too large for a matrix reduces itself to how many relevant papers stand among the first k and
to the rank of the first one (:mod:`cocite.evaluation.metrics`), and shares the formulas below.

A query without a relevant paper has the value 0; whether it counts in an average is the caller's choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
"""(Q,) the value of each query."""


def precision_at(hits: NDArray[np.bool_], k: int) -> Values:
    """P@k: the relevant papers among the first k, divided by k, also where the ranking is shorter than k.

    Example:
        >>> precision_at(np.array([[True, False, True, False]]), 2)
        array([0.5])
    """
    return precision_of(hits[:, :k].sum(axis=1), k)


def recall_at(hits: NDArray[np.bool_], counts: NDArray[np.integer[Any]], k: int) -> Values:
    """R@k: the share of a query's relevant papers that stand among the first k.

    Example:
        >>> recall_at(np.array([[True, False, True, False]]), np.array([4]), 3)
        array([0.5])
    """
    return recall_of(hits[:, :k].sum(axis=1), counts)


def reciprocal_rank(hits: NDArray[np.bool_]) -> Values:
    """RR: 1 / rank of the first relevant paper, from 1; 0 where none is retrieved. Its mean is MRR.

    Example:
        >>> reciprocal_rank(np.array([[False, True, True], [False, False, False]]))
        array([0.5, 0. ])
    """
    if not hits.shape[1]:
        return np.zeros(len(hits))
    return reciprocal_rank_of(np.where(hits.any(axis=1), 1 + hits.argmax(axis=1), 0))


def precision_of(retrieved: NDArray[Any], k: int) -> Values:
    """P@k from the number of relevant papers among the first k, (Q,).

    Example:
        >>> precision_of(np.array([3, 0]), 20)
        array([0.15, 0.  ])
    """
    return np.asarray(retrieved / k, np.float64)


def recall_of(retrieved: NDArray[Any], counts: NDArray[np.integer[Any]]) -> Values:
    """R@k from the number of relevant papers among the first k, (Q,), and of all relevant papers, (Q,).

    Example:
        >>> recall_of(np.array([3, 0]), np.array([4, 0]))
        array([0.75, 0.  ])
    """
    return np.asarray(retrieved / np.maximum(counts, 1), np.float64)


def reciprocal_rank_of(first: NDArray[np.integer[Any]]) -> Values:
    """RR from the rank of the first relevant paper, (Q,), from 1; 0 where none is retrieved.

    Example:
        >>> reciprocal_rank_of(np.array([1, 4, 0]))
        array([1.  , 0.25, 0.  ])
    """
    return np.asarray(np.divide(1.0, first, out=np.zeros(len(first)), where=first > 0))


def f1(precision: Values | float, recall: Values | float) -> Values:
    """F1 = 2 P R / (P + R), the harmonic mean; 0 where both are 0, NaN where one is NaN.

    Of a set of queries, Citeomatic (Bhagavatula et al., 2018, section 5) takes it of the two averages, not the average
    of the queries' own values.

    Example:
        >>> f1(np.array([0.2, 0.4]).mean(), np.array([0.5, 0.7]).mean())
        array(0.4)
    """
    total = np.asarray(precision + recall, np.float64)
    return np.asarray(np.divide(2 * precision * recall, total, out=total.copy(), where=total != 0))

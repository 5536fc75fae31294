"""Intervals of means over queries, by a bootstrap over the papers that the queries come from.

Two contexts of one paper are too alike to count as two independent queries, so papers are drawn, not queries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DRAWS = 1000
"""Samples of papers that an interval is made of."""


class Interval(NamedTuple):
    """A mean and its 95 % interval.

    Example:
        >>> Interval(0.4, 0.3, 0.5).high
        0.5
    """

    mean: float
    low: float
    high: float


def mean_over_papers(values: NDArray[np.float64], papers: NDArray[np.integer]) -> Interval:
    """The mean of queries' values, and its interval over papers.

    Args:
        values: (Q,) of the queries.
        papers: (Q,) the paper that each query comes from.

    Example:
        >>> mean_over_papers(np.ones(6), np.array([3, 3, 3, 8, 8, 9]))
        Interval(mean=1.0, low=1.0, high=1.0)
    """
    if not len(values):
        return Interval(np.nan, np.nan, np.nan)
    distinct, place = np.unique(papers, return_inverse=True)
    sums = np.stack([np.bincount(place, weights=values), np.bincount(place)], axis=1)
    # Fixed: the same values give the same interval.
    rng = np.random.default_rng(0)
    # How often each paper is drawn suffices: one product instead of a thousand samples of queries.
    weights = rng.multinomial(len(distinct), np.full(len(distinct), 1 / len(distinct)), size=DRAWS)
    drawn = weights @ sums
    low, high = np.percentile(drawn[:, 0] / drawn[:, 1], [2.5, 97.5])
    return Interval(float(values.mean()), float(low), float(high))

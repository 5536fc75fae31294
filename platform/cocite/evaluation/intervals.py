"""Intervals of means over queries, by a bootstrap over the papers that the queries come from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cocite.bootstrap import resampled_means


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
    low, high = np.percentile(resampled_means(values[:, None], papers), [2.5, 97.5])
    return Interval(float(values.mean()), float(low), float(high))

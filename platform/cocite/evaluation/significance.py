"""Whether one run is better than another: a paired t-test, and how large the difference is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same queries; ``difference`` is the first minus the second.

    Attributes:
        queries: how many queries both runs were judged on.
        mean: of the first run.
        other: mean of the second run.
        difference: of the means.
        low: lower end of the difference's 95 % confidence interval.
        high: its upper end.
        t: the paired t statistic.
        p: two-sided p value.
        d: Cohen's d, the difference in units of the two runs' pooled standard deviation (.2 small, .5 medium,
            .8 large).
        d_paired: the difference in units of the standard deviation of the per-query differences.

    Example:
        >>> comparison = compare(np.array([0.5, 1.0, 0.2, 0.9]), np.array([0.4, 0.7, 0.2, 0.5]))
        >>> round(comparison.difference, 3), round(comparison.p, 3)
        (0.2, 0.116)
    """

    queries: int
    mean: float
    other: float
    difference: float
    low: float
    high: float
    t: float
    p: float
    d: float
    d_paired: float


def compare(first: NDArray[np.float64], second: NDArray[np.float64]) -> Comparison:
    """Compare the aligned per-query values (Q,) of two runs; a query that either left unjudged (NaN) is left out.

    Two runs that are equal on every query have t = 0 and p = 1.

    Raises:
        InputError: fewer than two queries were judged in both runs.

    Example:
        >>> compare(np.array([0.5, np.nan, 0.2]), np.array([0.4, 0.7, 0.2])).queries
        2
    """
    from scipy import special  # scipy.stats has the same test, and takes half a second to import

    if first.shape != second.shape:
        raise ValueError(f"{first.shape} values against {second.shape}")
    both = ~(np.isnan(first) | np.isnan(second))
    a, b = first[both], second[both]
    if len(a) < 2:
        raise InputError("a paired test needs at least two queries that both runs were judged on")
    difference = a - b
    mean, deviation = float(difference.mean()), float(difference.std(ddof=1))
    pooled = float(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
    if deviation == 0:
        # Every query differs by the same amount: the test is undefined at 0 / 0 and certain otherwise.
        t, p, low, high = (
            (0.0, 1.0, mean, mean) if mean == 0 else (float(np.copysign(np.inf, mean)), 0.0, mean, mean)
        )
    else:
        freedom, error = len(a) - 1, deviation / np.sqrt(len(a))
        t = mean / error
        p = float(2 * special.stdtr(freedom, -abs(t)))
        reach = float(special.stdtrit(freedom, 0.975) * error)
        low, high = mean - reach, mean + reach
    return Comparison(
        queries=len(a),
        mean=float(a.mean()),
        other=float(b.mean()),
        difference=mean,
        low=low,
        high=high,
        t=t,
        p=p,
        d=_ratio(mean, pooled),
        d_paired=_ratio(mean, deviation),
    )


def _ratio(difference: float, deviation: float) -> float:
    if deviation == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    return difference / deviation

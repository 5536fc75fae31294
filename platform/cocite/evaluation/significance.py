"""Whether one run is better than another: a paired t-test, and how large the difference is.

Contexts of one citing paper are alike. A test that takes them as independent finds differences that are not there, so
the variance here is that of sums over papers (Liang and Zeger, *Longitudinal data analysis using generalized linear
models*, 1986; Cameron and Miller, *A practitioner's guide to cluster-robust inference*, 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.protocols import NO_ROW

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""A standard error or mean below this share of the largest difference is zero but for rounding."""


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
        papers: how many papers the queries come from; as many as queries where each counts by itself, 0 in a result
            that was written before papers were counted.

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
    papers: int = 0

    def sample(self, queries: str = "queries") -> str:
        """What the test is over, in words: the queries, and their citing papers where these are fewer.

        Args:
            queries: what they are called.

        Example:
            >>> a, b, papers = np.array([0.5, 1.0, 0.2]), np.array([0.4, 0.7, 0.2]), np.array([1, 1, 2])
            >>> compare(a, b).sample("dev queries"), compare(a, b, papers).sample("dev queries")
            ('3 dev queries', '3 dev queries of 2 citing papers')
        """
        of_papers = f" of {self.papers:,} citing papers" if 0 < self.papers < self.queries else ""
        return f"{self.queries:,} {queries}{of_papers}"


def number_papers(papers: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """(Q,) numbers from 0 of the papers that queries come from; a query of none (``NO_ROW``) has a number of its own.

    Example:
        >>> number_papers(np.array([7, -1, 7, 3, -1]))
        array([1, 2, 1, 0, 3])
    """
    number = np.full(len(papers), NO_ROW, np.int64)
    known = papers != NO_ROW
    distinct, number[known] = np.unique(papers[known], return_inverse=True)
    number[~known] = len(distinct) + np.arange((~known).sum())
    return number


def compare(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    papers: NDArray[np.integer[Any]] | None = None,
) -> Comparison:
    """Compare the aligned per-query values of two runs; a query that either left unjudged (NaN) is left out.

    Two runs that are equal on every query have t = 0 and p = 1.

    Args:
        first: (Q,) of one run.
        second: (Q,) of the other.
        papers: (Q,) the paper that each query comes from, whose queries are not taken as independent; None, or
            ``NO_ROW`` of a query: it comes from a paper of its own.

    Raises:
        InputError: fewer than two queries were judged in both runs, or all come from one paper.

    Example:
        >>> compare(np.array([0.5, np.nan, 0.2]), np.array([0.4, 0.7, 0.2])).queries
        2
    """
    from scipy import special  # scipy.stats has the same test, and takes half a second to import

    if first.shape != second.shape:
        raise ValueError(f"{first.shape} values against {second.shape}")
    if papers is not None and papers.shape != first.shape:
        raise ValueError(f"{first.shape} values of queries from {papers.shape} papers")
    both = ~(np.isnan(first) | np.isnan(second))
    a, b = first[both], second[both]
    if len(a) < 2:
        raise InputError("a paired test needs at least two queries that both runs were judged on")
    difference = a - b
    mean, deviation = float(difference.mean()), float(difference.std(ddof=1))
    pooled = float(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
    number = np.arange(len(a)) if papers is None else number_papers(papers[both])
    count = int(number.max()) + 1
    if count < 2:
        raise InputError("a paired test needs queries of at least two papers")
    sums = np.bincount(number, difference - mean)
    error = float(np.sqrt(count / (count - 1) * (sums @ sums))) / len(a)
    rounding = ROUNDING * float(np.abs(difference).max())
    if error <= rounding:
        # Every paper differs by the same amount: the test is undefined at 0 / 0 and certain otherwise.
        equal = abs(mean) <= rounding
        t, p, low, high = (0.0 if equal else float(np.copysign(np.inf, mean))), float(equal), mean, mean
    else:
        freedom, t = count - 1, mean / error
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
        papers=count,
    )


def _ratio(difference: float, deviation: float) -> float:
    if deviation == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    return difference / deviation

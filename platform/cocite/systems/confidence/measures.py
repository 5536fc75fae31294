"""How well probabilities fit what happened: calibration error, Brier score, and the points of a reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

BINS = 15
Binning = Literal["mass", "width"]
"""``mass``: bins of as many probabilities each; ``width``: of as wide a range each."""
Vector = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Reliability:
    """One bin: how probable, how often, and how many.

    Example:
        >>> Reliability(predicted=0.5, observed=0.4, count=10).error
        0.09999999999999998
    """

    predicted: float
    """Mean probability."""
    observed: float
    """Share that was relevant."""
    count: int

    @property
    def error(self) -> float:
        """Distance of the two."""
        return abs(self.predicted - self.observed)


def reliability(
    probabilities: Vector, relevant: NDArray[np.bool_], *, bins: int = BINS, by: Binning = "mass"
) -> list[Reliability]:
    """The bins (at most ``bins``) of probabilities (n,), by rising probability; empty ones are left out.

    Example:
        >>> points = reliability(np.array([0.1, 0.1, 0.9]), np.array([False, True, True]), bins=2, by="width")
        >>> [(point.predicted, point.observed, point.count) for point in points]
        [(0.1, 0.5, 2), (0.9, 1.0, 1)]
    """
    order = np.argsort(probabilities, kind="stable")
    values, hits = np.asarray(probabilities, np.float64)[order], np.asarray(relevant)[order]
    if by == "mass":
        numbers = np.arange(len(values)) * bins // max(len(values), 1)
        # Equal probabilities are one group: were they told apart, the bins would depend on the order of the input.
        numbers = numbers[np.searchsorted(values, values)]
    else:
        numbers = np.minimum((values * bins).astype(np.int64), bins - 1)
    return [
        Reliability(float(values[chosen].mean()), float(hits[chosen].mean()), int(chosen.sum()))
        for number in np.unique(numbers)
        if (chosen := numbers == number).any()
    ]


def calibration_error(
    probabilities: Vector, relevant: NDArray[np.bool_], *, bins: int = BINS, by: Binning = "mass"
) -> float:
    """Expected calibration error (Naeini et al. 2015): the mean distance of the bins, weighed by their sizes.

    Example:
        >>> calibration_error(np.array([0.5, 0.5]), np.array([True, False])), calibration_error(
        ...     np.array([0.9, 0.9]), np.array([True, False]))
        (0.0, 0.4)
    """
    points = reliability(probabilities, relevant, bins=bins, by=by)
    return sum(point.error * point.count for point in points) / max(len(probabilities), 1)


def brier_score(probabilities: Vector, relevant: NDArray[np.bool_]) -> float:
    """The mean squared distance of the probabilities (n,) from 1 where relevant, else from 0.

    Example:
        >>> brier_score(np.array([1.0, 0.5]), np.array([True, False]))
        0.125
    """
    return float(np.mean(np.square(np.asarray(probabilities, np.float64) - relevant)))

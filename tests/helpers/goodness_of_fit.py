"""A statistical test of what is drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats


def fits(drawn: NDArray[np.int32], expected: NDArray[np.float64]) -> bool:
    """A chi-squared test of draws against (N,) probabilities; rare outcomes are counted as one."""
    counts = np.bincount(drawn, minlength=len(expected)).astype(float)
    assert not counts[expected == 0].any()
    wanted = expected * len(drawn)
    rare = wanted < 10
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(wanted[~rare], wanted[rare].sum())
    if wanted[-1] == 0:
        observed, wanted = observed[:-1], wanted[:-1]
    return bool(stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3)

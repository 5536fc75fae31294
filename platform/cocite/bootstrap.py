"""The bootstrap over groups of queries: the means of samples in which whole groups are drawn with replacement.

Two contexts of one paper are too alike to count as two independent queries, so papers are drawn, not queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAWS = 1000
"""Samples of groups that an interval is made of."""


def resampled_means(values: NDArray[np.float64], groups: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """The mean of each column in :data:`DRAWS` samples of the groups. The same values give the same samples.

    Args:
        values: (Q, C) of the queries.
        groups: (Q,) the group, such as the paper, that each query comes from.

    Returns:
        (DRAWS, C).

    Example:
        >>> resampled_means(np.ones((3, 2)), np.array([7, 7, 9])).mean(0).tolist()
        [1.0, 1.0]
    """
    distinct, place = np.unique(groups, return_inverse=True)
    sums = np.zeros((len(distinct), 1 + values.shape[1]))
    np.add.at(sums, place, np.column_stack([np.ones(len(values)), values]))
    rng = np.random.default_rng(0)
    # How often each group is drawn suffices: one product instead of a thousand samples of queries.
    weights = rng.multinomial(len(distinct), np.full(len(distinct), 1 / len(distinct)), size=DRAWS)
    drawn = weights @ sums
    means: NDArray[np.float64] = drawn[:, 1:] / drawn[:, :1]
    return means

"""The bootstrap over groups, beside one that draws the groups' queries one by one."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.bootstrap import DRAWS, resampled_means


def test_means_are_those_of_the_drawn_groups_queries() -> None:
    rng = np.random.default_rng(1)
    groups = rng.integers(5, size=40) * 3 - 2
    values = rng.random((40, 3))
    found = resampled_means(values, groups)
    distinct = np.unique(groups)
    counts = np.random.default_rng(0).multinomial(
        len(distinct), [1 / len(distinct)] * len(distinct), size=DRAWS
    )
    for row in (0, 17, DRAWS - 1):
        drawn = np.concatenate([np.repeat(group, n) for group, n in zip(distinct, counts[row], strict=True)])
        sample = np.concatenate([values[groups == group] for group in drawn])
        assert found[row] == pytest.approx(sample.mean(0), rel=1e-12)


def test_the_spread_is_that_of_the_groups_means() -> None:
    rng = np.random.default_rng(2)
    means = rng.normal(size=400)
    # Ten queries of one paper say no more than one: the spread follows the papers.
    values = np.repeat(means, 10)[:, None]
    found = resampled_means(values, np.repeat(np.arange(400), 10))
    assert found.std() == pytest.approx(means.std() / np.sqrt(400), rel=0.1)


def test_one_group_has_one_mean() -> None:
    assert np.ptp(resampled_means(np.arange(6.0)[:, None], np.full(6, 4))) == 0

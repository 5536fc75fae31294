"""Intervals over papers: they hold the truth as often as they say, where queries of one paper are alike."""

from __future__ import annotations

import numpy as np

from cocite.evaluation.intervals import mean_over_papers


def test_the_mean_is_that_of_queries_and_no_queries_have_none() -> None:
    found = mean_over_papers(np.array([0.0, 0.0, 0.0, 1.0]), np.array([5, 5, 5, 7]))
    assert found.mean == 0.25
    assert (found.low, found.high) == (0.0, 1.0)  # a paper alone may be drawn twice
    assert np.isnan(mean_over_papers(np.empty(0), np.empty(0, np.int64))).all()


def test_ninety_five_in_a_hundred_intervals_hold_the_truth() -> None:
    rng = np.random.default_rng(3)
    held, narrow = 0, 0
    for _ in range(200):
        of_paper = rng.normal(size=80)
        papers = np.repeat(np.arange(80), 5)
        values = of_paper[papers] + 0.1 * rng.normal(size=400)
        found = mean_over_papers(values, papers)
        held += found.low <= 0 <= found.high
        error = 1.96 * values.std() / 20  # as if the 400 queries were independent
        narrow += abs(found.mean) <= error
    assert 178 <= held <= 198
    assert narrow < 150

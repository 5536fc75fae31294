from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cocite.errors import InputError
from cocite.evaluation.significance import compare


def test_against_the_textbook_formulas():
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.6, 0.2, 200), rng.normal(0.5, 0.3, 200)
    result = compare(a, b)
    difference = a - b
    error = difference.std(ddof=1) / math.sqrt(200)
    assert result.t == pytest.approx(difference.mean() / error)
    assert result.d == pytest.approx(difference.mean() / math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
    # 97.5 % point of Student's t with 199 degrees of freedom, from a table.
    assert result.low == pytest.approx(difference.mean() - 1.971957 * error, rel=1e-5)
    assert result.high == pytest.approx(difference.mean() + 1.971957 * error, rel=1e-5)
    assert result.p < 0.01
    swapped = compare(b, a)
    assert (swapped.t, swapped.d, swapped.p) == pytest.approx((-result.t, -result.d, result.p))


def test_equal_to_scipys_paired_test():
    rng = np.random.default_rng(6)
    for n in (2, 3, 50, 4000):
        a, b = rng.random(n), rng.random(n)
        ours, theirs = compare(a, b), stats.ttest_rel(a, b)
        interval = theirs.confidence_interval(0.95)
        expected = (theirs.statistic, theirs.pvalue, interval.low, interval.high)
        assert (ours.t, ours.p, ours.low, ours.high) == pytest.approx(expected, rel=1e-9)


def test_unjudged_queries_are_left_out():
    a, b = np.array([1, np.nan, 0.5, 0]), np.array([0.5, 0.2, np.nan, 0.25])
    result = compare(a, b)
    assert (result.queries, result.mean, result.other) == (2, 0.5, 0.375)


def test_equal_and_constant_differences():
    a = np.array([0.5, 0.25, 1.0])
    same = compare(a, a)
    assert (same.t, same.p, same.d, same.low, same.high) == (0, 1, 0, 0, 0)
    shifted = compare(a, a - 0.25)
    assert (shifted.t, shifted.p) == (math.inf, 0)
    assert 0 < shifted.d < math.inf


def test_one_query_is_too_few():
    with pytest.raises(InputError, match="at least two"):
        compare(np.array([1.0]), np.array([0.0]))

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
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


def test_where_each_query_has_its_own_paper_it_is_the_usual_test():
    rng = np.random.default_rng(7)
    a, b, papers = rng.random(300), rng.random(300), rng.permutation(300)
    usual, over = compare(a, b), compare(a, b, papers)
    assert (over.t, over.p, over.low, over.high) == pytest.approx(
        (usual.t, usual.p, usual.low, usual.high), rel=1e-12
    )
    assert compare(a, b, np.full(300, -1)) == usual  # of no paper of the corpus
    assert (over.papers, over.queries) == (300, 300)


def test_against_a_transcription_of_the_variance_over_papers():
    rng = np.random.default_rng(8)
    papers = rng.integers(0, 40, 300)
    a, b = rng.random(300), rng.random(300)
    result = compare(a, b, papers)
    difference = a - b
    squares, groups = 0.0, set(papers.tolist())
    for paper in groups:
        squares += sum(difference[i] - difference.mean() for i in range(300) if papers[i] == paper) ** 2
    error = math.sqrt(len(groups) / (len(groups) - 1) * squares) / 300
    t = difference.mean() / error
    assert (result.t, result.papers) == (pytest.approx(t, rel=1e-10), len(groups))
    assert result.p == pytest.approx(2 * stats.t.sf(abs(t), len(groups) - 1), rel=1e-9)
    assert result.high - result.low == pytest.approx(2 * stats.t.ppf(0.975, len(groups) - 1) * error)


def test_alike_contexts_of_one_paper_are_no_independent_evidence():
    rng, papers = np.random.default_rng(9), np.repeat(np.arange(100), 12)
    found = np.zeros(2)
    for _ in range(400):
        # A correlation of .2 between the contexts of a paper, and no difference in truth.
        shared, own = rng.normal(0, math.sqrt(0.2), 100)[papers], rng.normal(0, math.sqrt(0.8), 1200)
        values = shared + own
        zero = np.zeros(1200)
        found += [compare(values, zero).p < 0.05, compare(values, zero, papers).p < 0.05]
    alone, over = found / 400
    assert alone > 0.15
    assert 0.025 < over < 0.08


@given(st.permutations(range(12)))
def test_the_order_of_queries_does_not_matter(order):
    rng = np.random.default_rng(10)
    a, b, papers = rng.random(12), rng.random(12), np.repeat(np.arange(4), 3)
    first, second = compare(a, b, papers), compare(a[order], b[order], papers[order])
    assert (second.t, second.p) == pytest.approx((first.t, first.p))


def test_queries_of_one_paper_are_too_few():
    with pytest.raises(InputError, match="a paired test needs queries of at least two papers"):
        compare(np.array([1.0, 0.5]), np.array([0.0, 0.5]), np.array([3, 3]))

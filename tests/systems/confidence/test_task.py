"""Fitting to scores whose true probabilities are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.errors import InputError
from cocite.systems.confidence.task import (
    ScoredQueries,
    base_rates,
    compare_methods,
    fit,
    folds_of,
    measure,
)


def drawn(queries: int, seed: int, *, useful: bool = True) -> tuple[ScoredQueries, np.ndarray]:
    """Queries with 15 candidates, and the true probability of each; without ``useful`` the score says nothing."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(queries, 15))
    truth = 1 / (1 + np.exp(2.5 - 1.5 * scores)) if useful else np.full(scores.shape, 0.15)
    return ScoredQueries(scores, rng.random(scores.shape) < truth, np.arange(queries) // 2), truth


def test_the_true_probabilities_are_found() -> None:
    data, _ = drawn(2000, 0)
    other, truth = drawn(2000, 1)
    values = fit(data, ranks=15, depth=15).probabilities_of(other.scores)
    assert np.abs(values - truth).mean() < 0.02
    assert measure(values, other)["ECE"] < 0.02


def test_a_score_that_says_nothing_gets_the_base_rate() -> None:
    data, _ = drawn(2000, 0, useful=False)
    values = fit(data, ranks=15, depth=15).probabilities_of(data.scores)
    assert np.abs(values - 0.15).mean() < 0.03


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31 - 1), st.integers(1, 15))
def test_a_fitted_calibration_never_says_never(seed: int, ranks: int) -> None:
    data, _ = drawn(30, seed)
    if not data.relevant[data.pairs(ranks)].any() or data.relevant[data.pairs(ranks)].all():
        return
    calibration = fit(data, ranks=ranks, depth=15)
    assert 0 < min(calibration.probabilities) <= max(calibration.probabilities) < 1
    assert len(calibration.by_rank) == ranks
    values = calibration.probabilities_of(data.scores)
    np.testing.assert_array_equal(np.isnan(values), ~data.pairs(ranks))


def test_queries_that_cite_nothing_are_refused() -> None:
    data, _ = drawn(10, 0)
    nothing = ScoredQueries(data.scores, np.zeros_like(data.relevant), data.papers)
    with pytest.raises(InputError, match="cite none of their best candidates"):
        fit(nothing, ranks=5, depth=15)


def test_every_method_is_measured_on_queries_that_it_was_not_fitted_to() -> None:
    data, _ = drawn(400, 3)
    compared = compare_methods(data, ranks=15, folds=4, seed=0)
    rank, ours = compared["rank alone"], compared["isotonic, score and share"]
    assert ours["Brier"] < rank["Brier"]
    assert len(compared) == 6
    assert all(np.isfinite(value) for values in compared.values() for value in values.values())


@given(st.lists(st.integers(0, 6), min_size=2, max_size=30), st.integers(2, 9), st.integers(0, 99))
def test_parts_share_no_manuscript_and_hold_every_query_once(
    papers: list[int], folds: int, seed: int
) -> None:
    of = np.array(papers)
    if len(set(papers)) < 2:
        with pytest.raises(InputError, match="fewer than two manuscripts"):
            list(folds_of(of, folds, seed))
        return
    parts = list(folds_of(of, folds, seed))
    assert sorted(np.concatenate([part for part, _ in parts]).tolist()) == list(range(len(papers)))
    for part, rest in parts:
        assert not set(of[part]) & set(of[rest])
        assert len(part) + len(rest) == len(papers)
        assert len(part)
        assert len(rest)


def test_base_rates_know_the_rank_alone() -> None:
    data, _ = drawn(500, 5)
    calibration = fit(data, ranks=10, depth=15)
    rates = base_rates(calibration, data)
    assert np.isnan(rates[~data.pairs(10)]).all()
    best = data.pairs(1)
    np.testing.assert_allclose(rates[best], data.relevant[best].mean())

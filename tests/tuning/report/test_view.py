"""Which trials a report compares, and their parameters as columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from helpers.trials import depth_trials, rate_trials
from hypothesis import given
from hypothesis import strategies as st

from cocite_tuning.report.view import Column, View
from cocite_tuning.sweep.trials import Trial, Trials


def test_a_zero_among_orders_of_magnitude_makes_levels() -> None:
    def column(values: list[Any]) -> Column:
        return Column.of("l2", [Trial(number=i, params={"l2": value}) for i, value in enumerate(values)])

    steep = column([1e-2, 0, 1e-7, 1e-4, 1e-2, 1e-6])
    assert steep.levels == ("0", "1e-07", "1e-06", "0.0001", "0.01")
    assert steep.numbers.tolist() == [4, 0, 1, 3, 4, 2]
    assert column([0, 1, 2, 3, 4]).levels == ()
    assert column([1e-7, 1e-4, 1e-2, 1e-6]).logarithmic
    assert column([0.0, *np.logspace(-7, -2, 20).tolist()]).levels == ()


def test_columns_have_numbers_levels_and_scales() -> None:
    view = View(rate_trials())
    columns = {column.name: column for column in view.columns}
    assert view.baseline is not None
    assert view.baseline.number == 0
    assert len(view.compared) == 59
    assert columns["model.rate"].logarithmic
    assert columns["model.rate"].label == "rate"
    assert not columns["idle"].logarithmic
    assert columns["kind"].levels == ("a", "b")
    assert np.isnan(columns["inner"].numbers).any()
    names = ["a.x", "b.x", "b.y"]
    trials = [Trial(number=i, params=dict.fromkeys(names, i)) for i in range(2)]
    assert [Column.of(name, trials, names).label for name in names] == ["a.x", "b.x", "y"]


def test_the_frontier_holds_the_trials_that_none_beats_in_both() -> None:
    front = View(depth_trials()).frontier()
    times = [trial.metrics["latency_ms"] for trial in front]
    values = [trial.metrics["R@10"] for trial in front]
    assert times == sorted(times)
    assert values == sorted(values)
    for trial in depth_trials().trials:
        beaten = [
            other
            for other in front
            if other.metrics["latency_ms"] <= trial.metrics["latency_ms"]
            and other.metrics["R@10"] >= trial.metrics["R@10"]
        ]
        assert beaten, "each trial is on the line or beaten by one that is"


def test_the_phase_with_most_trials_is_compared() -> None:
    short = [Trial(number=i, params={"x": i}, metrics={"m": 1.0 + i}, phase="short") for i in range(5)]
    full = [Trial(number=5, params={"x": 1}, metrics={"m": 0.5}, phase="full")]
    view = View(Trials(sweep="s", metric="m", trials=(*short, *full)))
    assert view.phase == "short"
    assert [trial.number for trial in view.compared] == [0, 1, 2, 3, 4]


def test_stopped_failed_and_undefined_trials_are_not_compared() -> None:
    trials = (
        Trial(number=0, params={"x": 1}, metrics={"m": 0.1}),
        Trial(number=1, params={"x": 2}, metrics={"m": 0.9}, state="stopped"),
        Trial(number=2, params={"x": 3}, state="failed"),
        Trial(number=3, params={"x": 4}, metrics={"m": math.nan}),
    )
    assert [trial.number for trial in View(Trials(sweep="s", metric="m", trials=trials)).compared] == [0]


def test_the_best_trial_of_each_value_is_listed() -> None:
    view = View(depth_trials())
    depth = next(column for column in view.columns if column.name == "depth")
    assert [(value, trial.params["rerank"]) for value, trial in view.best_by(depth)] == [
        (10, 50),
        (100, 50),
        (1000, 50),
    ]


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0.1, 9)),
        min_size=1,
        max_size=12,
    )
)
def test_the_frontier_is_the_set_that_pairwise_comparison_finds(points: list[tuple[float, float]]) -> None:
    trials = [
        Trial(number=i, params={"x": i}, metrics={"m": quality, "latency_ms": ms})
        for i, (quality, ms) in enumerate(points)
    ]
    front = View(Trials(sweep="s", metric="m", trials=tuple(trials))).frontier()
    undominated = {
        (q, ms)
        for q, ms in points
        if not any((q2 >= q and ms2 <= ms) and (q2, ms2) != (q, ms) for q2, ms2 in points)
    }
    assert {(t.metrics["m"], t.metrics["latency_ms"]) for t in front} == undominated

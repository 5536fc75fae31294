"""Quality against latency."""

from __future__ import annotations

from helpers.trials import depth_trials, rate_trials

from cocite_tuning.report.latency_plots import best_by_count, count_columns, latency_frontier
from cocite_tuning.report.view import View
from cocite_tuning.sweep.trials import Trial, Trials


def test_the_frontier_is_numbered_and_the_budget_named() -> None:
    view = View(depth_trials())
    svg = latency_frontier(view, budget=30, chosen=depth_trials().best(at_most={"latency_ms": 30}))
    assert svg is not None
    front = view.frontier()
    assert f"{len(front)} trials that none beats in both" in svg
    assert all(f">{i + 1}<" in svg for i in range(len(front)))
    assert ">30 ms<" in svg


def test_there_is_a_pair_of_axes_for_each_parameter_that_counts() -> None:
    view = View(depth_trials())
    assert [column.name for column in count_columns(view)] == ["depth", "rerank"]
    svg = best_by_count(view)
    assert svg is not None
    assert 'aria-label="R@10 and latency against depth, rerank"' in svg


def test_without_latency_there_is_no_figure() -> None:
    view = View(rate_trials())
    assert latency_frontier(view) is None
    assert best_by_count(view) is None
    nothing = View(Trials(sweep="s", metric="m"))
    assert latency_frontier(nothing) is None


def test_only_few_whole_numbers_count() -> None:
    trials = tuple(
        Trial(
            number=i,
            params={"k": i % 5, "many": i, "share": i / 7, "form": "ab"[i % 2]},
            metrics={"m": i / 40},
        )
        for i in range(40)
    )
    assert [c.name for c in count_columns(View(Trials(sweep="s", metric="m", trials=trials)))] == ["k"]

"""What all figures share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite_jobs.svg_figures import new_figure
from cocite_tuning.report.figures import (
    fits_side_by_side,
    jitter,
    rank_colours,
    scale_x,
    thin_out,
    tick_label,
    truncate,
)
from cocite_tuning.report.view import Column
from cocite_tuning.sweep.trials import Trial


def column(values: list[Any]) -> Column:
    return Column.of("x", [Trial(number=i, params={"x": value}) for i, value in enumerate(values)])


@given(count=st.integers(1, 500), most=st.integers(3, 60))
def test_thinning_keeps_the_best_third_the_order_and_the_number(count: int, most: int) -> None:
    order = np.random.default_rng(0).permutation(count)
    kept = thin_out(order, most)
    assert len(kept) == min(count, most)
    positions = [order.tolist().index(i) for i in kept]
    assert positions == sorted(positions)
    if count > most:
        assert kept[-(most // 3) :].tolist() == order[-(most // 3) :].tolist()
        assert kept[0] == order[0]  # the worst one marks the range


def test_colours_go_from_light_to_dark_by_rank() -> None:
    order = np.array([2, 0, 3, 1])  # worst first
    brightness = rank_colours(order)[:, :3].mean(axis=1)
    assert np.all(np.diff(brightness[order]) < 0)
    assert rank_colours(np.array([0])).shape == (1, 4)


@pytest.mark.parametrize(
    ("values", "scale", "ticks"),
    [
        (["a", "b", "a"], "linear", ["a", "b"]),
        ([1e-4, 1e-3, 1e-1, 1e-4], "log", ["0.0001", "0.001", "0.1"]),
        (np.geomspace(1e-4, 1, 20).tolist(), "log", None),
        ([1, 2, 3, 4], "linear", None),
    ],
)
def test_axes_fit_their_parameter(values: list[Any], scale: str, ticks: list[str] | None) -> None:
    _, axes = new_figure(2, 1)
    axes.scatter(column(values).numbers, range(len(values)))
    scale_x(axes, column(values))
    assert axes.get_xscale() == scale
    if ticks is not None:
        assert [label.get_text() for label in axes.get_xticklabels()] == ticks


def test_jitter_moves_levels_a_little_and_numbers_not_at_all() -> None:
    levels = column(["a", "b", "a", "b"])
    moved = jitter(levels)
    assert 0 < np.abs(moved - levels.numbers).max() <= 0.18
    np.testing.assert_array_equal(jitter(levels), moved)
    numbers = column([1.0, 2.0])
    np.testing.assert_array_equal(jitter(numbers), numbers.numbers)


def test_texts_fit_their_room() -> None:
    assert truncate("objective.learning_rate", 10) == "objective…"
    assert truncate("short", 10) == "short"
    assert fits_side_by_side(["yes", "no"])
    assert not fits_side_by_side(["context+title+abstract", "title"])
    assert [tick_label(value) for value in (3.0, 0.12345, 2e6)] == ["3", "0.123", "2e+06"]

"""Means, deviations, and what stands where trials do not agree."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.evaluation.report import MarkedFloat, Table, format_cell
from cocite_jobs.reproduction.record import MadeExhibit
from cocite_jobs.reproduction.trial_statistics import Trials


def trials(*rows: list[list[Any]], columns: list[str] | None = None) -> Trials:
    names = columns or ["method", "MRR"]
    return Trials(
        {
            seed: MadeExhibit("t", Table("Table", names, each, "Old."), 2.0, [])
            for seed, each in enumerate(rows)
        }
    )


@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=6))
def test_means_and_deviations_are_those_of_the_standard_library(values: list[float]) -> None:
    made = trials(*([["NNSelect", value]] for value in values))
    mean = made.table.rows[0][1]
    assert mean == pytest.approx(statistics.mean(values), abs=1e-9)
    deviation = made.deviations.rows[0][1]
    if len(set(values)) == 1:
        assert math.isnan(deviation)
        assert "±" not in format_cell(mean)
    else:
        assert deviation == pytest.approx(statistics.stdev(values), abs=1e-6)
        assert format_cell(mean).partition("±")[2] == format_cell(deviation)


def test_what_is_the_same_in_each_trial_stays_as_it_is() -> None:
    made = trials([["BM25", 0.2], ["queries", 30]], [["BM25", 0.2], ["queries", 30]])
    assert made.table.rows == [["BM25", 0.2], ["queries", 30]]
    assert isinstance(made.table.rows[1][1], int)
    assert made.table.note.startswith("Old. Mean ± standard deviation")
    assert "seeds 0, 1;" in made.table.note


def test_rows_are_found_by_name_and_a_trial_may_lack_one() -> None:
    made = trials([["a", 0.1], ["b", 0.5]], [["b", 0.7], ["a", 0.3], ["c", 0.9]])
    assert [row[0] for row in made.table.rows] == ["a", "b", "c"]
    assert [float(row[1]) for row in made.table.rows] == pytest.approx([0.2, 0.6, 0.9])
    assert made.table.note.endswith("Where a trial lacks a row or a number, the others alone are averaged.")
    assert "lacks" not in trials([["a", 0.1]], [["a", 0.2]]).table.note


def test_rows_of_one_name_are_kept_apart() -> None:
    made = trials([["a", 0.1], ["a", 0.5]], [["a", 0.3], ["a", 0.5]])
    assert [float(row[1]) for row in made.table.rows] == pytest.approx([0.2, 0.5])


def test_numbers_that_are_none_are_left_out_of_the_mean() -> None:
    made = trials(
        [["a", math.nan], ["b", math.nan]], [["a", 0.3], ["b", math.nan]], [["a", 0.5], ["b", math.nan]]
    )
    assert float(made.table.rows[0][1]) == pytest.approx(0.4)
    assert math.isnan(made.table.rows[1][1])
    assert "lacks a row or a number" in made.table.note


def test_a_mark_stands_where_each_trial_has_it() -> None:
    star, none = MarkedFloat(0.4, "*"), MarkedFloat(0.6)
    made = trials(
        [["a", star], ["b", star], ["c", star]], [["a", MarkedFloat(0.6, "*")], ["b", none], ["c", star]]
    )
    assert [format_cell(row[1]) for row in made.table.rows] == ["0.500±0.141*", "0.500±0.141", "0.400*"]
    assert "A mark stands where each trial has it." in made.table.note


def test_texts_that_differ_are_all_told() -> None:
    made = trials([["a", "x"], ["b", ""]], [["a", "y"], ["b", ""]])
    assert made.table.rows == [["a", "x / y"], ["b", ""]]


def test_the_models_of_a_trial_are_below_its_folder_and_the_seconds_are_added() -> None:
    made = Trials(
        {
            seed: MadeExhibit(
                "t", Table("", ["m", "v"], []), 2.5, [{"model": "model/nnselect", "seed": seed}]
            )
            for seed in (4, 7)
        }
    )
    assert made.combined.seconds == 5
    assert [model["model"] for model in made.combined.models] == [
        "seed-4/model/nnselect",
        "seed-7/model/nnselect",
    ]

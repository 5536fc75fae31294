from __future__ import annotations

import math
import re

import pytest

from cocite.evaluation.report import Table
from cocite_jobs.reproduction.plan import Plot
from cocite_jobs.reproduction.plots import COLOURS, HATCHES, MARKERS, draw
from cocite_jobs.reproduction.published import PublishedNumber

BY_ROWS = Table("t", ["system", "R@10", "R@100"], [["bm25", 0.3, 0.6], ["hatten", 0.4, math.nan]])
BY_COLUMNS = Table("t", ["neighbours", "R@20"], [[1, 0.1], [5, 0.2], [50, 0.3]])


def texts(svg: str | None) -> list[str]:
    assert svg is not None
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_rows_are_lines_over_the_numbers_in_the_columns_names() -> None:
    plot = Plot("rows", ("R@10", "R@100"), "candidates", "recall", "ACL-200")
    theirs = [
        PublishedNumber("t", "BM25", "R@10", 0.2, "", "ACL-200"),
        PublishedNumber("t", "BM25", "R@1000", 0.7, "", "ACL-200"),
        PublishedNumber("t", "BM25", "R@10", 0.2, "", "arXiv"),
    ]
    said = texts(draw(plot, BY_ROWS, "Table 2", theirs, {"bm25": "BM25"}))
    assert {"bm25", "hatten", "bm25, paper on ACL-200", "candidates", "recall", "10", "100"} <= set(said)
    assert "1000" not in said, "a column that is not drawn"


def test_columns_are_lines_over_the_first_one() -> None:
    plot = Plot("columns", ("R@20", "not there"), "neighbours", "R@20", "OpenCorpus")
    theirs = [PublishedNumber("t", k, "R@20", 0.1, "", "OpenCorpus") for k in ("1", "5", "10")]
    said = texts(draw(plot, BY_COLUMNS, "Table 4", theirs, {}))
    assert {"1", "5", "10", "50", "R@20, paper on OpenCorpus"} <= set(said)
    assert "not there" not in said


def test_bars_are_named_by_their_rows() -> None:
    table = Table(
        "t", ["venue", "queries", "F1@20"], [["ACL", 5, 0.1], ["x" * 99, 4, 0.2], ["no", 1, math.nan]]
    )
    said = texts(draw(Plot("bars", ("F1@20",), "F1@20", ""), table, "Figure 3", [], {}))
    assert {"ACL", "x" * 59 + "…"} <= set(said)
    assert "no" not in said


def test_several_columns_of_bars_have_a_legend_and_those_that_are_missing_no_bar() -> None:
    table = Table("t", ["venue", "F1@20, NNRank", "F1@20, more"], [["ACL", 0.1, 0.2], ["CL", 0.3, math.nan]])
    both = draw(Plot("bars", ("F1@20, NNRank", "F1@20, more"), "F1@20", ""), table, "Figure 3", [], {})
    assert {"ACL", "CL", "F1@20, NNRank", "F1@20, more"} <= set(texts(both))
    one = draw(Plot("bars", ("F1@20, NNRank", "not there"), "F1@20", ""), table, "Figure 3", [], {})
    assert {"ACL", "CL"} <= set(texts(one))
    assert "F1@20, NNRank" not in texts(one), "the axis says what the only column is"


@pytest.mark.parametrize("kind", ["rows", "columns", "bars"])
def test_without_a_number_nothing_is_drawn(kind: str) -> None:
    table = Table("t", ["a", "b 1"], [["1", math.nan]])
    assert draw(Plot(kind, ("b 1",), "", ""), table, "", [], {}) is None  # type: ignore[arg-type]


def test_the_same_table_is_the_same_picture_and_lines_differ_without_colour() -> None:
    plot = Plot("columns", ("R@20",), "", "")
    assert draw(plot, BY_COLUMNS, "a", [], {}) == draw(plot, BY_COLUMNS, "a", [], {})
    assert len(set(COLOURS)) == len(set(MARKERS)) == len(COLOURS)
    assert len(set(HATCHES)) == len(HATCHES)

"""Tables: marks of significance, cells as text, JSON and Markdown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cocite.corpus.csr import CSR
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import measure
from cocite.evaluation.report import (
    MarkedFloat,
    Report,
    Table,
    comparison_table,
    format_cell,
    marked_table,
    metrics_table,
    self_citation_table,
    slice_tables,
)
from cocite.evaluation.significance import compare
from cocite.evaluation.slices import SelfCitation
from cocite.protocols import NO_ROW, Ranking


def ranking(rows):
    rows = np.array(rows, np.int32)
    scores = np.where(rows == NO_ROW, -np.inf, -np.arange(rows.shape[1])).astype(np.float32)
    return Ranking(rows, scores)


def relevant(*lists):
    owners = np.repeat(np.arange(len(lists)), [len(entries) for entries in lists])
    return CSR.build(owners, np.concatenate([np.array(e, np.int32) for e in lists]), len(lists))


def test_marks_tell_what_is_significantly_better_or_worse():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 50, (60, 1))
    cited = relevant(*[[1000 + i] for i in range(60)])

    def system(shift):
        rows = np.tile(np.arange(100), (60, 1))
        places = np.clip(first[:, 0] + shift, 0, 99)
        rows[np.arange(60), places] = 1000 + np.arange(60)
        return measure(Hits.of(ranking(rows), cited), ["MRR", "R@100"])

    table = marked_table(
        "t", {"base": system(5), "good": system(0), "bad": system(30)}, "base", more={"ms": [1.0, 2.0, 3.0]}
    )
    assert table.columns == ["system", "MRR", "R@100", "ms"]
    marks = {row[0]: [cell.mark for cell in row[1:3]] for row in table.rows}
    assert marks == {"base": ["", ""], "good": ["*", ""], "bad": ["-", ""]}
    assert format_cell(MarkedFloat(0.5, "*")) == "0.500*"
    assert table.records()[1]["MRR"] == float(table.rows[1][1])


def hits_of(ranks: list[int]) -> Hits:
    """One relevant paper for each query, at a rank."""
    return Hits(
        np.arange(len(ranks) + 1), np.array(ranks, np.int32), np.arange(len(ranks), dtype=np.int32), 100
    )


def test_cells_as_text():
    cells = [0.12345, 123.4, float("nan"), 20299, True, "name", MarkedFloat(0.5, "-")]
    assert [format_cell(cell) for cell in cells] == ["0.123", "123", "–", "20,299", "True", "name", "0.500-"]


def test_markdown_and_json_hold_the_same_cells():
    table = Table("t", ["system", "a|b"], [["x", 0.5], ["y|z", float("inf")]], "A note.")
    assert table.records() == [{"system": "x", "a|b": 0.5}, {"system": "y|z", "a|b": None}]
    assert table.markdown().splitlines()[4:] == ["| x | 0.500 |", "| y\\|z | inf |", "", "A note."]
    report = Report("title", {"depth": 2000, "share": float("nan")}, [table])
    assert report.json() == {"title": "title", "depth": 2000, "share": None, "tables": {"t": table.records()}}
    assert report.markdown().startswith("## title\n\n- depth: 2,000\n- share: –\n\n### t\n")
    assert report.metrics() == {"t/x/a|b": 0.5}


def test_one_row_a_system_and_a_slice():
    measured = {"a": measure(hits_of([1, 2]), ["MRR"]), "b": measure(hits_of([2, 4]), ["MRR"])}
    assert metrics_table(measured).rows == [["a", 2, 0.75], ["b", 2, 0.375]]
    counts = np.array([0, 7], np.int32)
    tables = slice_tables(hits_of([1, 2]), years=[2001, None], venues=["ACL", ""], in_citations=counts)
    assert [table.title for table in tables] == ["positives", "year", "venue", "in-citations"]
    assert [row[:3] for row in tables[1].rows] == [["unknown", 1, 0.5], ["2001", 1, 1.0]]
    assert [row[1] for row in tables[3].rows] == [1, 0, 1, 0]
    assert [table.title for table in slice_tables(hits_of([1]))] == ["positives"]


def test_the_comparison_is_the_paired_test_of_each_metric():
    first, second = (measure(hits_of(ranks), ["MRR", "R@1"]) for ranks in ([1, 2, 1, 4], [2, 2, 3, 4]))
    table = comparison_table(first, second, ("one", "two"))
    expected = compare(first.per_query["MRR"], second.per_query["MRR"])
    assert table.rows[0][:4] == ["MRR", expected.mean, expected.other, expected.difference]
    assert table.rows[0][5:7] == [expected.t, f"{expected.p:.4f}"]
    certain = comparison_table(
        measure(hits_of([1] * 9), ["MRR"]), measure(hits_of([2] * 9), ["MRR"]), ("one", "two")
    )
    assert certain.rows[0][6] == "< 0.0001"


def test_tables_say_over_what_the_test_is():
    papers = np.repeat(np.arange(3), 4)
    ranks = [1, 2, 1, 4] * 3, [2, 2, 3, 4] * 3
    grouped, alone = (
        {
            name: measure(replace(hits_of(own), citing=citing), ["MRR", "R@1"])
            for name, own in zip("ab", ranks, strict=True)
        }
        for citing in (papers, np.arange(12))
    )
    assert (
        marked_table("t", grouped, "b").note
        == "* better, - worse than b (paired t-test over citing papers, p < 0.05)."
    )
    assert marked_table("t", alone, "b").note == "* better, - worse than b (paired t-test, p < 0.05)."
    note = comparison_table(grouped["a"], grouped["b"], ("a", "b")).note
    assert note.startswith("Paired two-sided t-test over the 3 citing papers of the queries;")
    note = comparison_table(alone["a"], alone["b"], ("a", "b")).note
    assert note.startswith("Paired two-sided t-test over per-query values;")


def test_queries_of_one_paper_get_no_mark():
    one = {
        name: measure(replace(hits_of([rank] * 9), citing=np.full(9, 4)), ["MRR", "F1@5"])
        for name, rank in (("a", 1), ("b", 5))
    }
    table = marked_table("t", one, "b")
    assert [cell.mark for cell in table.rows[0][1:]] == ["", ""]
    assert table.note.endswith("The mark of an F1 is that of the mean of the queries' own F1.")


def test_the_comparison_of_queries_of_one_paper_has_the_means_and_says_why_there_is_no_test():
    first, second = (
        measure(replace(hits_of(ranks), citing=np.full(len(ranks), 4)), ["MRR", "R@1"])
        for ranks in ([1, 2, 0], [2, 2, 1])
    )
    table = comparison_table(first, second, ("a", "b"))
    assert table.rows[0][:4] == ["MRR", 0.5, pytest.approx(2 / 3), pytest.approx(-1 / 6)]
    assert [row[6] for row in table.rows] == ["no test: one citing paper"] * 2
    assert table.records()[0]["t"] is None
    assert table.note.startswith("A paired test needs queries of at least two citing papers; these have 1.")


@pytest.mark.parametrize(("ranks", "why"), [([1], "no test: one query"), ([], "no test: no query")])
def test_fewer_than_two_queries_have_no_test(ranks: list[int], why: str):
    measured = measure(hits_of(ranks), ["MRR"])
    [row] = comparison_table(measured, measured, ("a", "b")).rows
    assert (row[6], row[8]) == (why, len(ranks))


def test_self_citation_rows_are_the_cut_offs_that_were_counted():
    bias = SelfCitation(np.arange(10.0), np.arange(10.0) + 1, np.arange(10))
    assert self_citation_table(bias).rows == [[1, 0, 0.0, 1.0], [5, 4, 4.0, 5.0], [10, 9, 9.0, 10.0]]

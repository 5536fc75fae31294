from __future__ import annotations

import math

from cocite.evaluation.report import MarkedFloat, Table
from cocite_jobs.reproduction.grid import OURS, WIDEST, side_by_side
from cocite_jobs.reproduction.published import PublishedNumber

TABLE = Table(
    "Table 2",
    ["method", "MRR", "ms per query"],
    [["bm25", MarkedFloat(0.4, "*"), 2.0], ["ours alone", math.nan, 3.0]],
)


def number(row: str, column: str, value: float, dataset: str = "DBLP", unit: str = "") -> PublishedNumber:
    return PublishedNumber("table2", row, column, value, unit, dataset)  # type: ignore[arg-type]


def test_a_deviation_stands_behind_its_number() -> None:
    theirs = [
        PublishedNumber("table2", "bm25", "MRR", 0.579, "", "DBLP", 0.007),
        PublishedNumber("table2", "bm25", "MRR", 30.9, "%", "PubMed", 0.1),
    ]
    [(_, rows)] = side_by_side(TABLE, theirs, {}).sections
    assert rows[0] == ["bm25", "0.400*", "2.000", "0.579±0.007", "0.309±0.001"]


def test_numbers_of_the_paper_stand_in_the_row_and_column_of_ours() -> None:
    theirs = [
        number("BM25", "ms per query", 131, unit="ms"),
        number("BM25", "MRR", 42.5, unit="%"),
        number("ClusCite", "MRR", 0.5),
        number("BM25", "MRR", 0.6, dataset="PubMed"),
    ]
    grid = side_by_side(TABLE, theirs, {"bm25": "BM25"})
    assert grid.groups == [("", 1), (OURS, 2), ("DBLP", 2), ("PubMed", 1)]
    assert grid.columns == ["method", "MRR", "ms per query", "MRR", "ms per query", "MRR"], "in our order"
    assert grid.sections == [
        (
            "",
            [
                ["bm25", "0.400*", "2.000", "0.425", "131", "0.600"],
                ["ours alone", "–", "3.000", "", "", ""],
                ["ClusCite", "", "", "0.500", "", ""],
            ],
        )
    ]


def test_without_numbers_of_the_paper_the_table_is_ours() -> None:
    grid = side_by_side(TABLE, [], {})
    assert (grid.groups, grid.columns) == ([], TABLE.columns)
    assert [row[0] for _, rows in grid.sections for row in rows] == ["bm25", "ours alone"]


def test_many_corpora_stand_below_each_other() -> None:
    datasets = [f"corpus {i}" for i in range(WIDEST)]
    theirs = [number("BM25", "MRR", 0.1, dataset) for dataset in datasets]
    theirs.append(number("Sent2vec", "R@9", 0.3, datasets[-1]))
    grid = side_by_side(TABLE, theirs, {"bm25": "BM25"})
    assert grid.groups == []
    assert grid.columns == ["method", "MRR", "ms per query", "R@9"]
    assert [name for name, _ in grid.sections] == [OURS, *datasets]
    assert grid.sections[0][1][0] == ["bm25", "0.400*", "2.000", ""]
    assert grid.sections[-1][1] == [["BM25", "0.100", "", ""], ["Sent2vec", "", "", "0.300"]]
    assert all(len(row) == len(grid.columns) for _, rows in grid.sections for row in rows)


def test_markdown_says_whose_each_column_or_row_is() -> None:
    beside = side_by_side(TABLE, [number("BM25", "MRR", 0.4)], {}).markdown().splitlines()
    assert beside[0] == "| method | this corpus: MRR | this corpus: ms per query | DBLP: MRR |"
    assert beside[1] == "| --- | --- | --- | --- |"
    assert beside[2] == "| bm25 | 0.400* | 2.000 |  |"
    below = side_by_side(TABLE, [number("a|b", "MRR", 0.1, str(i)) for i in range(WIDEST)], {}).markdown()
    assert below.splitlines()[0] == "| corpus | method | MRR | ms per query |"
    assert "| 0 | a\\|b | 0.100 |  |" in below

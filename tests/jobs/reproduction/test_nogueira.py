"""BM25 + SciBERT end to end at toy size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from cocite_jobs.reproduction.nogueira import plan
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.reproduce import Outcome
from cocite_jobs.tables.reranking import reranking_tables


@pytest.mark.integration
def test_every_table_and_figure_is_made(
    reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup]
) -> None:
    outcome, setup = reproduced("nogueira"), toy_setup("nogueira")
    assert outcome.trained == ["encoder", "reranker"]
    assert outcome.made == ["table1", "table2", "table4", "figure1"]
    shown = {each.exhibit.id: each for each in outcome.contents.shown}
    second = shown["table2"].made.table
    assert second.columns == [
        "system",
        *(f"{m}, {s}" for m in ("F1@20", "MRR", "R@1000") for s in ("dev", "test")),
    ]
    bm25, reranked = second.rows
    assert bm25[0] == "bm25"
    assert bm25[5:] == reranked[5:], "reranking finds nothing new"
    assert bm25[1:5] != reranked[1:5]
    settings = {"only": ["bm25"], "task": "global", "split": "dev", "sample": 20, "depths": (30,)}
    [table] = reranking_tables(setup.corpus, setup.model, **settings).tables  # type: ignore[arg-type]
    assert [row[1:] for row in table.rows] == [row[1::2] for row in second.rows]
    fourth = {row[0]: row for _, rows in shown["table4"].grid.sections for row in rows}
    assert fourth["key-terms-by-field"][-3:] == ["0.130", "0.425", "0.510"], "beside the paper's key terms"
    assert len(shown["figure1"].made.table.rows) == 5
    assert shown["figure1"].figure
    assert "30 candidates of bm25" in shown["figure1"].made.table.note


def test_only_the_papers_own_encoder_stands_beside_scibert(empty_setup: Setup) -> None:
    names = {size: plan(replace(empty_setup, size=size)).exhibits[1].names for size in ("small", "paper")}
    assert "bm25 + cross-encoder" not in names["small"]
    assert names["paper"]["bm25 + cross-encoder"] == "BM25 + SciBERT-Large"
    own = plan(replace(empty_setup, size="paper", encoder="folder")).exhibits[1].names
    assert "bm25 + cross-encoder" not in own

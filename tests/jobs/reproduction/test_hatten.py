"""HAtten + SciBERT end to end at toy size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cocite.corpus.builder import build
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.splits import by_year_name
from cocite.corpus.starter import PAPERS
from cocite_jobs.reproduction.hatten import plan
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.reproduce import Outcome


@pytest.mark.integration
def test_every_table_and_figure_is_made(
    reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup]
) -> None:
    outcome, setup = reproduced("hatten"), toy_setup("hatten")
    assert outcome.trained == ["nnselect", "hatten", "encoder", "reranker of HAtten", "reranker of BM25"]
    assert outcome.made == ["table1", "table2", "table3", "table4", "figure4"]
    assert (setup.folder / "index").is_dir()
    shown = {each.exhibit.id: each for each in outcome.contents.shown}
    second = [row[0] for row in shown["table2"].made.table.rows]
    assert {"bm25", "nnselect", "hatten", "Sent2Vec"} <= set(second)
    theirs = {row[0] for _, rows in shown["table2"].grid.sections for row in rows}
    assert "Sent2vec" in theirs, "the paper's row, below ours"
    assert f"--baselines s2v --cache {setup.folder}/baselines" in shown["table2"].exhibit.command
    assert dict(shown["table2"].grid.sections)["ACL-200"][-1][0] == "HAtten"
    third = shown["table3"].made.table
    assert [row[0] for row in third.rows] == [
        "bm25",
        "NCN",
        "DualCon",
        "DualEnh",
        "BERT-GCN",
        "cross-encoder",
    ]
    assert "--baselines ncn,dualcon,dualenh,bertgcn --cache" in shown["table3"].exhibit.command
    fourth = shown["table4"].made.table
    assert fourth.columns == ["pipeline", "20 reranked", "40 reranked"]
    rows = {row[0]: row[1:] for row in fourth.rows}
    assert "bm25 + cross-encoder of bm25" in rows
    assert "hatten + cross-encoder of hatten" in rows
    assert [row[0] for row in shown["figure4"].made.table.rows] == [20, 40]
    assert {each.exhibit.id for each in outcome.contents.shown if each.figure} == {
        "table2",
        "table4",
        "figure4",
    }
    assert f"--reranker bm25={setup.folder}/bm25" in shown["table4"].exhibit.command


def test_a_corpus_without_contexts_has_no_local_queries(empty_setup: Setup, tmp_path: Path) -> None:
    papers_alone = build(NativeJSONL(PAPERS), tmp_path / "corpus", split=by_year_name(2017, 2019))
    made = plan(replace(empty_setup, corpus=papers_alone))
    assert {exhibit.why_not for exhibit in made.exhibits} == {"The corpus has no citation contexts."}

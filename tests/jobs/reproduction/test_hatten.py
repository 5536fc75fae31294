"""HAtten + SciBERT end to end at toy size."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.tiny_bert import tiny_bert

from cocite.corpus.builder import build
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.splits import by_year_name
from cocite.corpus.starter import PAPERS
from cocite.systems.cross_encoder.network import SCIBERT
from cocite_jobs.reproduction.hatten import plan
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.reproduce import Outcome, reproduce
from cocite_jobs.reproduction.rerankers import further_folders
from cocite_jobs.tables.reranking import reranking_tables


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


@pytest.mark.integration
def test_table_3_compares_encoders(
    reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup], tmp_path: Path
) -> None:
    reproduced("hatten")
    other = str(tiny_bert(tmp_path / "bert", ["parsing", "graph", "neural"]))
    shutil.copytree(toy_setup("hatten").folder, tmp_path / "to")  # other tests read what the first one made
    setup = replace(toy_setup("hatten"), folder=tmp_path / "to", more_encoders=(other,))
    outcome = reproduce("hatten", setup, only=["table3"])
    assert outcome.trained == [f"reranker of BM25 from {other}"]
    [shown] = [each for each in outcome.contents.shown if each.exhibit.id == "table3"]
    rows = {row[0]: row[1:] for row in shown.made.table.rows}
    compared = ["cross-encoder from pretrained on the corpus", f"cross-encoder from {other}"]
    assert list(rows)[-2:] == compared
    [folder] = further_folders(setup).values()
    assert (folder / "candidates/manifest.json").samefile(setup.folder / "bm25/candidates/manifest.json")
    settings = {"only": ["reranking"], "sample": 10, "depths": (20, 40), "oracle_depth": 40}
    [again] = reranking_tables(setup.corpus, folder, **settings).tables  # type: ignore[arg-type]
    assert again.rows[-1][1:3] == rows[compared[1]][:2], "what the second command beside the table prints"
    assert str(folder) in shown.exhibit.command.splitlines()[1]


def test_the_papers_encoders_stand_in_their_rows(empty_setup: Setup) -> None:
    setup = replace(
        empty_setup, size="paper", encoder=SCIBERT, more_encoders=("google-bert/bert-base-uncased",)
    )
    names = plan(setup).exhibits[2].names
    assert names[f"cross-encoder from {SCIBERT}"] == "SciBERT Reranker"
    assert names["cross-encoder from google-bert/bert-base-uncased"] == "BERT Reranker"
    assert "BERT against SciBERT in Table 3" not in plan(setup).impossible
    assert "BERT against SciBERT in Table 3" in plan(empty_setup).impossible


def test_only_table_4_is_of_ten_thousand_contexts_in_the_paper(empty_setup: Setup) -> None:
    made = plan(replace(empty_setup, size="paper"))
    sampled = {exhibit.id: "--sample 10000" in exhibit.command for exhibit in made.exhibits}
    assert sampled == {"table1": False, "table2": False, "table3": False, "table4": True, "figure4": True}
    own = plan(replace(empty_setup, size="paper", sample=50))
    assert all("--sample 50" in exhibit.command for exhibit in own.exhibits[1:])


def test_a_corpus_without_contexts_has_no_local_queries(empty_setup: Setup, tmp_path: Path) -> None:
    papers_alone = build(NativeJSONL(PAPERS), tmp_path / "corpus", split=by_year_name(2017, 2019))
    made = plan(replace(empty_setup, corpus=papers_alone))
    assert {exhibit.why_not for exhibit in made.exhibits} == {"The corpus has no citation contexts."}

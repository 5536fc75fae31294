"""BM25 + SciBERT end to end at toy size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.tiny_bert import tiny_bert

from cocite.evaluation.report import Table
from cocite.manifests import read_manifest
from cocite_jobs.reproduction.grid import side_by_side
from cocite_jobs.reproduction.nogueira import NO_LIST, plan
from cocite_jobs.reproduction.nogueira_rerankers import BALANCED, encoder_folders
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.published import published_numbers
from cocite_jobs.reproduction.reproduce import SPENT, Outcome, reproduce
from cocite_jobs.tables.reranking import reranking_tables

CLASSES = ("model", "balanced/missed", "balanced/found", "balanced/random")
"""The folders of section 5.2."""


@pytest.mark.integration
def test_every_table_and_figure_is_made(
    reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup]
) -> None:
    outcome, setup = reproduced("nogueira"), toy_setup("nogueira")
    assert outcome.trained == [
        "encoder",
        "reranker",
        *(f"reranker, {row}" for row in BALANCED),
        *(f"reranker of {query} + {80 - query} tokens" for query in (20, 60)),
    ]
    assert outcome.made == ["table1", "table2", "table4", "section52", "figure1"]
    assert (
        outcome.contents.impossible["Table 3: BM25's candidates reranked from each encoder, on dev"]
        == NO_LIST
    )
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
    balance = shown["section52"].made.table
    assert balance.columns == ["classes", "F1@20", "MRR"]
    assert [row[0] for row in balance.rows] == ["bm25", "unbalanced", *BALANCED]
    assert balance.rows[0][1:] == bm25[1:5:2], "Table 2's dev columns"
    assert balance.rows[1][1:] == reranked[1:5:2]
    assert [facts["model"] for facts in shown["section52"].made.models] == [
        "model/masked-lm",
        *(f"{folder}/cross-encoder" for folder in CLASSES),
    ]
    recipes = [read_manifest(setup.folder / folder / "cross-encoder").meta["recipe"] for folder in CLASSES]
    classes = [
        tuple(recipe["objective"][key] for key in ("balanced", "missed", "random")) for recipe in recipes
    ]
    assert classes == [(False, True, 0), (True, True, 0), (True, False, 0), (False, True, 10)]
    for recipe in recipes:
        recipe["objective"].update(balanced=False, missed=True, random=0)
    assert all(recipe == recipes[0] for recipe in recipes), "nothing else differs"
    assert shown["section52"].exhibit.command.count("\ncocite evaluate reranking") == 3
    figure = shown["figure1"].made.table
    assert [row[0] for row in figure.rows] == [f"{q} + {80 - q}" for q in (10, 20, 30, 40, 50, 60, 70)]
    trained = [row[0] for row in figure.rows if not math.isnan(row[3])]
    assert trained == ["20 + 60", "60 + 20"], "the splits that a reranker was trained for"
    assert shown["figure1"].figure
    assert "F1@20, trained for it" in shown["figure1"].figure
    assert "30 candidates of bm25" in figure.note


@pytest.mark.integration
def test_candidates_are_found_once(
    reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup]
) -> None:
    reproduced("nogueira")
    folder = toy_setup("nogueira").folder
    first = folder / "model/candidates/train.rows.npy"
    for other in (*CLASSES[1:], "splits/20", "splits/60"):
        assert (folder / other / "candidates/train.rows.npy").samefile(first), other
    tokens = folder / "model/pair-tokens/manifest.json"
    assert (folder / "balanced/missed/pair-tokens/manifest.json").samefile(tokens)
    assert not (folder / "balanced/random/pair-tokens/manifest.json").samefile(tokens), "of all papers"
    assert not (folder / "splits/20/pair-tokens/manifest.json").samefile(tokens), "cut at other lengths"


@pytest.mark.integration
def test_table_3_has_a_row_for_each_encoder(empty_setup: Setup, tmp_path: Path) -> None:
    """Two encoders, one after the other: the second is added to what the first left."""
    words = [["parsing", "graph", "neural"], ["model", "trees"]]
    first, second = (str(tiny_bert(tmp_path / f"bert{i}", words[i], seed=i)) for i in range(2))
    alone = replace(empty_setup, encoder=first)
    assert reproduce("nogueira", alone, only=["table2"]).trained == ["reranker"]
    both = replace(alone, more_encoders=(second,))
    stopped = reproduce("nogueira", both, only=["table3"], budget=1e-9)
    assert list(stopped.contents.missing.values()) == [SPENT]
    outcome = reproduce("nogueira", both, only=["table3"])
    assert outcome.trained == [f"reranker of {second}"]
    assert outcome.made == ["table3"]
    shown = {each.exhibit.id: each for each in outcome.contents.shown}
    table = shown["table3"].made.table
    assert table.columns == ["encoder", "F1@20", "MRR"]
    assert [row[0] for row in table.rows] == ["bm25", first, second]
    dev = [[cells[0], *cells[1:5:2]] for cells in shown["table2"].made.table.rows]
    assert [row[1:] for row in table.rows[:2]] == [row[1:] for row in dev], "the first is Table 2's"
    folder = encoder_folders(both)[second]
    settings = {"only": ["bm25"], "task": "global", "split": "dev", "sample": 20, "depths": (30,)}
    [again] = reranking_tables(both.corpus, folder, **settings).tables  # type: ignore[arg-type]
    assert again.rows[1][1:3] == table.rows[2][1:], "what the command beside the table prints"
    assert str(folder) in shown["table3"].exhibit.command
    theirs = {row[0]: row[-2:] for _, rows in shown["table3"].grid.sections for row in rows}
    assert theirs["(9) SciBERT, base, own vocabulary"] == ["0.131", "0.423"]
    assert len([row for row in theirs if row.startswith("(")]) == 11
    again_outcome = reproduce("nogueira", both, only=["table3"])
    assert (again_outcome.trained, again_outcome.made) == ([], [])


@pytest.mark.parametrize("encoder", [None, "folder"])
def test_no_row_of_ours_stands_beside_scibert_large(empty_setup: Setup, encoder: str | None) -> None:
    """SciBERT's recipe begins with the base model, the paper's Table 2 has the large one."""
    table2 = plan(replace(empty_setup, size="paper", encoder=encoder)).exhibits[1]
    ours = Table("Table 2", ["system", "MRR, test"], [["bm25", 0.1], ["bm25 + cross-encoder", 0.2]])
    wanted = ("table2", "DBLP", "MRR, test")
    printed = [n for n in published_numbers("nogueira") if (n.table, n.dataset, n.column) == wanted]
    rows = {row[0]: row for _, rows in side_by_side(ours, printed, table2.names).sections for row in rows}
    assert rows["bm25"][1:] == ["0.100", "0.585"]
    assert rows["bm25 + cross-encoder"][1:] == ["0.200", ""]
    assert rows["BM25 + SciBERT-Large"][1:] == ["", "0.714"]


def test_the_papers_encoders_stand_in_their_rows(empty_setup: Setup) -> None:
    several = replace(empty_setup, encoder="google-bert/bert-base-uncased", more_encoders=("own",))
    table3 = {size: plan(replace(several, size=size)).exhibits[2] for size in ("small", "paper")}
    assert table3["paper"].names["google-bert/bert-base-uncased"] == "(3) Google, base"
    assert not table3["small"].names, "a small training is not the paper's"
    printed = {n.row for n in published_numbers("nogueira") if n.table == "table3"}
    assert set(table3["paper"].names.values()) <= printed

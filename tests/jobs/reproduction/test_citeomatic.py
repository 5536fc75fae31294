"""Citeomatic end to end at toy size."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cocite.corpus.builder import build
from cocite.corpus.records import SPLITS, PaperRecord
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.manifests import read_manifest
from cocite.progress_bars import Advance, no_bars
from cocite_jobs.reproduction.citeomatic import plan
from cocite_jobs.reproduction.papers import plan_of
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.reproduce import Outcome, reproduce
from cocite_jobs.reproduction.training_step import run_training
from cocite_jobs.tables.citeomatic import citeomatic_tables
from cocite_jobs.tables.citeomatic_variants import ENCODERS, NO_NEIGHBOURS, WITHOUT

FEW = ("nnrank.objective.folds=0", "nnrank.training.steps=2")
"""Changes that train NNRank for a moment."""


@pytest.mark.integration
def test_every_table_and_figure_is_made(
    reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup]
) -> None:
    outcome, setup = reproduced("citeomatic"), toy_setup("citeomatic")
    assert outcome.trained == ["nnselect", "nnrank", "metadata", *WITHOUT, *ENCODERS]
    assert outcome.made == [
        "table1",
        "table5",
        "table4",
        "table2",
        "figure3",
        "figure4",
        "table10",
        "table3",
        "section5",
    ]
    assert outcome.contents.missing == {}
    shown = {each.exhibit.id: each for each in outcome.contents.shown}
    assert [row[0] for row in shown["table2"].made.table.rows] == [
        "BM25",
        "L2-LR",
        "ClusCite",
        "NNSelect",
        "+ NNRank",
        "+ metadata",
    ]
    [(_, rows)] = shown["table2"].grid.sections
    assert rows[2][0] == "ClusCite", "beside the paper's"
    assert {row[0] for row in rows} <= {row[0] for row in shown["table2"].made.table.rows}
    assert rows[0][3:] == ["0.119", "0.425", "0.209", "0.574", "0.058", "0.218"]
    tenth = {n.row for n in shown["table10"].published} - {row[0] for row in shown["table10"].made.table.rows}
    assert tenth == set(), "each of the paper's rows has ours beside it"
    # What the page shows is what the command beside it prints.
    command = shown["table10"].exhibit.command
    assert f"--model {setup.model} --only 10 --split test --seed 0" in command
    [table] = citeomatic_tables(setup.corpus, setup.model, only=["10"], sample=30).tables
    assert table.rows == shown["table10"].made.table.rows
    by_metric = dict(zip(table.columns, zip(*table.rows, strict=True), strict=True))
    of_table2 = dict(
        zip(("method", "F1@20", "MRR"), zip(*shown["table2"].made.table.rows, strict=True), strict=True)
    )
    assert by_metric["MRR"] == of_table2["MRR"]
    fifth = {row[0]: row for _, rows in shown["table5"].grid.sections for row in rows}
    assert fifth["key-terms-by-field"][-4:] == ["0.119", "0.425", "0.209", "0.574"], "beside the paper's"
    assert fifth["Ren et al. (2014)"][1:4] == ["", "", ""]
    encoders = shown["section5"].made.table
    assert [row[0] for row in encoders.rows][1:] == [row for row, _ in ENCODERS.values()]
    assert encoders.rows[0][1:3] == shown["table2"].made.table.rows[3][1:], "NNSelect"
    assert encoders.rows[0][4:] == shown["table2"].made.table.rows[4][1:], "+ NNRank"
    assert shown["section5"].published == [], "the paper prints none"
    drawn = [shown[figure].published for figure in ("figure3", "figure4")]
    assert drawn == [[], []]
    assert "The paper's points of Figures 3 and 4" in outcome.contents.impossible
    ranks = shown["figure4"].made.table
    assert [row[0] for row in ranks.rows] == [1, 5, 10, 20, 50, 100]
    assert {each.exhibit.id for each in outcome.contents.shown if each.figure} == {
        "table4",
        "figure3",
        "figure4",
    }


def test_a_corpus_without_metadata_has_fewer_rows_and_says_why(tmp_path: Path, empty_setup: Setup) -> None:
    papers = [PaperRecord(f"p{i}", f"title {i}", year=2000 + i % 9) for i in range(20)]
    without = replace(empty_setup, corpus=build(papers, tmp_path / "bare"))
    bare = plan(without)
    assert {"metadata", "text"} & {training.name for training in bare.trainings} == set()
    reading = plan(replace(without, settings=("nnrank.model.venue=true",)))
    assert reading.trainings[2].name == "text"
    why = {exhibit.id: exhibit.why_not for exhibit in bare.exhibits if exhibit.why_not}
    assert why == {"figure3": "The corpus names no venues.", "figure4": "The corpus names no authors."}


@pytest.mark.integration
def test_a_budget_limits_the_variants_of_models_that_were_trained_without_one(
    toy_corpus: Corpus, tmp_path: Path
) -> None:
    setup = Setup(toy_corpus, tmp_path / "to", "toy", settings=FEW)
    assert reproduce("citeomatic", setup, only=["table4"]).trained == ["nnselect", "nnrank"]
    trainings = {training.name: training for training in plan(setup).trainings}
    two, metadata = trainings[NO_NEIGHBOURS], trainings["metadata"]
    run_training(two, setup, 6.0)
    run_training(metadata, setup, 3.0)
    limits = {
        artifact: read_manifest(setup.folder / artifact).meta["recipe"]["training"]["minutes"]
        for artifact in ("model/nnrank", *two.artifacts, *metadata.artifacts)
    }
    # The recipe's own twelve are less than no budget; NNSelect and NNRank of a variant share its six.
    assert list(limits.values()) == pytest.approx([12.0, 2.0, 4.0, 3.0])
    # Another call, with another budget or none, measures them and trains the rest.
    outcome = reproduce("citeomatic", setup, only=["table2", "table3"], budget=900)
    assert outcome.trained == [name for name in WITHOUT if name != NO_NEIGHBOURS]
    assert outcome.contents.missing == {}
    for name in outcome.trained:
        recipe = read_manifest(setup.model / "ablations" / name / "nnrank").meta["recipe"]
        assert 0 < recipe["training"]["minutes"] < 12


@pytest.mark.integration
@pytest.mark.parametrize("settings", [("nnrank=nnrank-metadata",), ("nnrank.model.authors=true",)])
def test_an_nnrank_that_reads_metadata_is_compared_with_one_of_text_alone(
    toy_corpus: Corpus, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    setup = Setup(toy_corpus, tmp_path / "to", "toy", settings=(*settings, *FEW))
    only = ["table2", "figure3", "figure4", "table10"]
    outcome = reproduce("citeomatic", setup, only=only)
    assert outcome.contents.missing == {}
    assert outcome.trained == ["nnselect", "nnrank", "text"]
    assert outcome.made == only
    shown = {each.exhibit.id: each.made for each in outcome.contents.shown}
    assert [row[0] for row in shown["table2"].table.rows][-2:] == ["+ NNRank", "+ metadata"]
    assert [model["model"] for model in shown["table2"].models][1:] == [
        "model/nnrank",
        "model/ablations/text/nnrank",
    ]
    again = reproduce("citeomatic", setup, only=only)
    assert (again.trained, again.made) == ([], [])


@pytest.mark.integration
def test_queries_may_be_those_with_so_many_citations(
    reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup]
) -> None:
    reproduced("citeomatic")
    corpus = toy_setup("citeomatic").corpus
    of_split = {name: corpus.cites.degrees[corpus.split == SPLITS.index(name)] for name in ("dev", "test")}
    many = int(np.median(of_split["test"])) + 1
    asked: list[int | None] = []

    def bars(description: str, total: int | None) -> AbstractContextManager[Advance]:
        if description.startswith("ranking"):
            asked.append(total)
        return no_bars(description, total)

    for least in (None, many):
        setup = replace(toy_setup("citeomatic"), size="paper", min_citations=least, bars=bars)
        exhibits = {each.id: each for each in plan_of("citeomatic", setup).exhibits}
        commands = [each.command for each in exhibits.values()]
        assert {f"--min-citations {many}" in command for command in commands} == {least is not None}
        for name, split in (("table4", "dev"), ("table5", "test")):
            asked.clear()
            exhibits[name].make(setup)
            assert {*asked} == {(of_split[split] >= (least or 1)).sum()}
    with pytest.raises(InputError, match="--min-citations: hatten leaves out no query by its citations"):
        plan_of("hatten", replace(toy_setup("hatten"), min_citations=4))


def test_table_4_is_made_with_papers_of_dev_and_a_sample_may_be_named(empty_setup: Setup) -> None:
    commands = {each.id: each.command for each in plan(replace(empty_setup, size="paper")).exhibits}
    assert "--split dev --seed 0 --sample 1000" in commands["table4"]
    assert "--sample" not in commands["table2"]
    commands = {each.id: each.command for each in plan(replace(empty_setup, sample=7, seed=3)).exhibits}
    assert "--seed 3 --sample 7" in commands["table2"]

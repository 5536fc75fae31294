"""MP-BERT4CR end to end at toy size."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.tiny_bert import tiny_bert

from cocite.manifests import read_manifest
from cocite.progress_bars import Advance, no_bars
from cocite_jobs.reproduction import mp_bert4cr_controls as controls
from cocite_jobs.reproduction.mp_bert4cr import plan
from cocite_jobs.reproduction.plan import Setup, Size
from cocite_jobs.reproduction.published import published_numbers
from cocite_jobs.reproduction.reproduce import Outcome, reproduce
from cocite_jobs.reproduction.rerankers import further_folders
from cocite_jobs.tables.cocitation_variants import CONTROL_VARIANTS, VARIANTS

ROWS = [*VARIANTS, *CONTROL_VARIANTS]
CONTROLS = ["masked-lm", *(f"control: {row}" for rows in controls.ROWS.values() for row in rows)]


@pytest.mark.integration
def test_every_table_is_made(reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup]) -> None:
    outcome, setup = reproduced("mp-bert4cr"), toy_setup("mp-bert4cr")
    assert outcome.trained == [*ROWS, *CONTROLS]
    assert outcome.made == ["table1", "table3", "table4", "hierarchy", "gap"]
    assert (setup.folder / "baselines").is_dir()
    shown = {each.exhibit.id: each for each in outcome.contents.shown}
    third = {row[0]: row[1:] for row in shown["table3"].made.table.rows}
    baselines = [name.removesuffix(" + manuscript") for name in third]  # what each reads is chosen on dev
    assert baselines == ["BM25 (context+title)", "Word2Vec", "Doc2Vec", "HyperDoc2Vec", *ROWS]
    sections = dict(shown["table3"].grid.sections)
    assert list(sections) == ["this corpus", "ACL", "DBLP-3", "DBLP-2", "DBLP-1"]
    assert sections["ACL"][-1] == ["mpt-src-tgt", "0.361", "0.169", "0.362", "0.169", "0.406", "0.199"]
    assert shown["table4"].made.table.note.endswith("Measured with the table before.")
    assert "Measured with" not in shown["table3"].made.table.note
    fourth = shown["table4"].grid
    assert fourth.groups == [("", 1), ("this corpus", 6), ("DBLP-1", 6)]
    [(_, rows)] = fourth.sections
    assert [row[0] for row in rows] == ["best baseline", *ROWS]
    assert {model["step"] for model in shown["table4"].made.models} <= {0, 1, 2}


def test_an_encoder_is_a_baseline_and_the_papers_size_begins_with_pretraining(empty_setup: Setup) -> None:
    specter, scibert = "allenai/specter", "allenai/scibert_scivocab_uncased"
    setup = replace(empty_setup, size="paper", encoder=specter, more_encoders=(scibert,))
    made = plan(setup)
    trainings = ["pretraining", *ROWS, "bi-encoder", f"bi-encoder of {scibert}", *CONTROLS]
    assert [training.name for training in made.trainings] == trainings
    assert made.trainings[0].artifacts == ("model/mp-bert4cr-pretraining",)
    own = further_folders(setup)[scibert]
    [of_scibert] = [each for each in made.trainings if each.name.endswith(scibert)]
    assert of_scibert.artifacts == (f"{own.relative_to(setup.folder)}/bi-encoder",)
    rows = {
        specter: f"{setup.model / 'bi-encoder'}={specter} fine-tuned",
        scibert: f"{own / 'bi-encoder'}={scibert} fine-tuned",
    }
    command = shlex.split(made.exhibits[1].command)
    named = command[command.index("--baselines") + 1].split(",")
    assert named[-4:] == [specter, rows[specter], scibert, rows[scibert]]
    names = made.exhibits[1].names
    assert names[f"{scibert} fine-tuned"] == "SciBERT"
    assert names[f"{specter} fine-tuned + manuscript"] == "Specter"
    assert {*names.values()} <= {number.row for number in published_numbers("mp-bert4cr")}


@pytest.mark.integration
@pytest.mark.parametrize(("size", "reads"), [("small", "better"), ("paper", "context")])
def test_baselines_read_the_context_alone_at_the_papers_size(
    reproduced: Callable[[str], Outcome],
    toy_setup: Callable[[str], Setup],
    size: Size,
    reads: str,
) -> None:
    reproduced("mp-bert4cr")
    steps: list[str] = []

    def bars(description: str, total: int | None) -> AbstractContextManager[Advance]:
        steps.append(description)
        return no_bars(description, total)

    few = ("w2v.min_count=1", "d2v.min_count=1", "hd2v.epochs=1", "dacr.epochs=1")
    settings = tuple(f"baselines.{setting}" for setting in few)
    setup = replace(toy_setup("mp-bert4cr"), size=size, sample=5, settings=settings, bars=bars)
    [third] = [exhibit for exhibit in plan(setup).exhibits if exhibit.id == "table3"]
    command = shlex.split(third.command)
    assert command[command.index("--reads") + 1] == reads
    rows = [row[0] for row in third.make(setup).rows]
    assert any(step.startswith("ranking dev") for step in steps) == (reads == "better")
    if reads == "context":
        assert rows[:5] == ["BM25 (context+title)", "Word2Vec", "Doc2Vec", "HyperDoc2Vec", "DACR"]


@pytest.mark.integration
def test_encoders_are_measured_as_they_are_and_fine_tuned(
    toy_setup: Callable[[str], Setup], tmp_path: Path
) -> None:
    """Two of one folder's name, one after the other: the second is added to what the first left."""
    words = [["parsing", "graph", "neural"], ["model", "trees"]]
    first, second = (str(tiny_bert(tmp_path / f"{i}/bert", words[i], seed=i)) for i in range(2))
    alone = replace(toy_setup("mp-bert4cr"), folder=tmp_path / "out", encoder=first)
    assert reproduce("mp-bert4cr", alone, only=["table3"]).trained == [*ROWS, "bi-encoder"]
    both = replace(alone, more_encoders=(second,))
    outcome = reproduce("mp-bert4cr", both, only=["table3"])
    assert outcome.trained == [f"bi-encoder of {second}"]
    [third] = [each.made.table for each in outcome.contents.shown if each.exhibit.id == "table3"]
    rows = [row[0].removesuffix(" + manuscript") for row in third.rows]
    assert rows[4:8] == [first, f"{first} fine-tuned", second, f"{second} fine-tuned"]
    folders = (both.model, further_folders(both)[second])
    recipes = [read_manifest(folder / "bi-encoder").meta["recipe"] for folder in folders]
    assert [recipe.pop("encoder") for recipe in recipes] == [first, second]
    assert recipes[0] == recipes[1], "nothing else differs"

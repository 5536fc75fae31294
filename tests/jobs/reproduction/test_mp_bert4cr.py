"""MP-BERT4CR end to end at toy size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.tiny_bert import tiny_bert

from cocite_jobs.reproduction.mp_bert4cr import plan
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.reproduce import Outcome, reproduce
from cocite_jobs.tables.cocitation_variants import CONTROL_VARIANTS, VARIANTS

ROWS = [*VARIANTS, *CONTROL_VARIANTS]


@pytest.mark.integration
def test_every_table_is_made(reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup]) -> None:
    outcome, setup = reproduced("mp-bert4cr"), toy_setup("mp-bert4cr")
    assert outcome.trained == ROWS
    assert outcome.made == ["table1", "table3", "table4"]
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
    made = plan(replace(empty_setup, size="paper", encoder="allenai/specter"))
    assert [training.name for training in made.trainings] == ["pretraining", *ROWS, "bi-encoder"]
    assert made.trainings[0].artifacts == ("model/mp-bert4cr-pretraining",)
    fine_tuned = empty_setup.model / "bi-encoder"
    assert f"dacr,allenai/specter,{fine_tuned} " in made.exhibits[1].command


@pytest.mark.integration
def test_an_encoder_is_measured_as_it_is_and_fine_tuned(
    toy_setup: Callable[[str], Setup], tmp_path: Path
) -> None:
    encoder = tiny_bert(tmp_path / "bert", ["parsing", "graph", "neural"])
    setup = replace(toy_setup("mp-bert4cr"), folder=tmp_path / "out", encoder=str(encoder))
    outcome = reproduce("mp-bert4cr", setup, only=["table3"])
    assert outcome.trained == [*ROWS, "bi-encoder"]
    [third] = [each.made.table for each in outcome.contents.shown if each.exhibit.id == "table3"]
    names = {row[0].removesuffix(" + manuscript") for row in third.rows}
    assert {"bert (local encoder)", "bi-encoder (local encoder)"} <= names

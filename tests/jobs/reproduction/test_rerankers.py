from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cocite.artifacts import publish
from cocite_jobs.reproduction import training_step
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.rerankers import encoder_trainings, reranker_training


def test_an_encoder_is_pretrained_where_none_is_named(empty_setup: Setup) -> None:
    assert [training.artifacts for training in encoder_trainings(empty_setup)] == [("model/masked-lm",)]
    assert encoder_trainings(replace(empty_setup, encoder="folder")) == []
    assert encoder_trainings(replace(empty_setup, size="paper")) == [], "the paper's recipe names SciBERT"


def test_a_reranker_lies_where_its_table_looks(empty_setup: Setup) -> None:
    made = reranker_training(empty_setup, "of BM25", "cross-encoder-small", [], to="bm25")
    assert made.artifacts == ("bm25/cross-encoder",)


def test_what_another_reranker_has_is_taken_from_it(
    empty_setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    with publish(empty_setup.model / "candidates", kind="candidates", meta={}):
        pass
    trained: list[Path] = []
    monkeypatch.setattr(training_step, "train_or_resume", lambda *given: trained.append(given[2]))
    inputs = ["candidates", "pair-tokens"]
    made = reranker_training(
        replace(empty_setup, encoder="one"),
        "of two",
        "cross-encoder-small",
        [],
        to="two",
        encoder="two",
        inputs=inputs,
    )
    made.train(empty_setup, None)
    folder = empty_setup.folder / "two"
    assert trained == [folder]
    assert [path.name for path in folder.iterdir()] == ["candidates"], "no tokens are there to take"
    assert (folder / "candidates/manifest.json").samefile(empty_setup.model / "candidates/manifest.json")

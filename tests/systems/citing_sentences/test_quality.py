"""What an author is told of a classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.citing_papers import citing_corpus

from cocite.manifests import read_manifest
from cocite.systems.citing_sentences.classifier import KIND, CitingSentenceClassifier
from cocite.systems.citing_sentences.quality import Quality
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import train


def test_it_is_what_was_measured_in_training(tmp_path: Path) -> None:
    recipe = load_recipe("citing-sentences", ["width=4096", "features=[words]"])
    train(recipe, citing_corpus(tmp_path / "corpus"), tmp_path / "model")
    details = read_manifest(tmp_path / "model" / KIND, kind=KIND).meta["details"]
    told = CitingSentenceClassifier.load(tmp_path / "model" / KIND).quality
    assert told == Quality(details["test P"], details["test R"])


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"details": {"test left out": "the split is empty"}},
        {"details": {"test P": 0.4}},
        {"details": {"test P": 0.4, "test R": "0.5"}},
        {"details": {"test P": float("nan"), "test R": 0.5}},
        {"details": {"test P": 1.4, "test R": 0.5}},
        {"details": {"test P": 0.9, "test R": 0.9}, "recipe": {"negatives": 1}},
        {"details": "none"},
    ],
)
def test_nothing_is_told_where_nothing_was_measured(meta: dict[str, Any]) -> None:
    assert Quality.of_meta(meta) is None


def test_the_sentence_has_whole_numbers() -> None:
    assert Quality(0.0, 1.0).sentence == (
        "In papers that the model has not seen, 0 of 100 sentences that it picks cite; it picks 100 of 100 that cite."
    )
    assert Quality.of_meta({"details": {"test P": 0, "test R": 1}, "recipe": {"negatives": 0}}) == Quality(
        0, 1
    )

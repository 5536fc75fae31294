"""Losses and dev metrics of short trainings, as they were measured once: a change of the engine shows here.

Word dropout is off, since its draws depend on how a training seeds its passes.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.nnrank.cross_fitting import cross_fit
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnrank.task import nnrank_task
from cocite.systems.citeomatic.nnselect.base_task import NNSelectTask
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.task import nnselect_task
from cocite.text.fields import FieldEncoder
from cocite.training.engine.loop import train
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.task import TrainTask
from cocite.training.engine.world import World
from cocite.training.periods import Periods, PeriodSettings

PINNED = Path(__file__).parent / "pinned_numbers.json"

SELECT: dict[str, dict[str, Any]] = {
    "in_batch": {"objective": {"word_dropout": 0.0}, "training": {"batch": 128}},
    "in_batch, all settings": {
        "objective": {"word_dropout": 0.0, "extra": [1, 2, 1], "correction": 0.5, "l1": 1e-3, "l2": 1e-3},
        "training": {"batch": 100},
    },
    "in_batch, falling rate": {
        "objective": {"word_dropout": 0.0},
        "training": {
            "batch": 128, "epochs": 6, "patience": 6, "optimizer": {"learning_rate": 0.3}, "schedule": {"plateau": 0.5},
        },
    },
    "paper": {
        "objective": {"objective": "paper", "triplets": 3000, "word_dropout": 0.0, "l1": 1e-5},
        "training": {"batch": 128},
    },
}  # fmt: skip
RANK: dict[str, dict[str, Any]] = {
    "listwise": {
        "objective": {"listed": 20, "folds": 0, "word_dropout": 0.0},
        "training": {"batch": 32},
    },
    "listwise, all settings": {
        "model": {"dimension": 8, "siamese": False},
        "objective": {
            "listed": 20, "folds": 2, "word_dropout": 0.0, "table_rate": 0.001, "l1": 1e-3, "l2": 1e-3,
        },
        "training": {"batch": 32},
    },
    "paper": {
        "objective": {"objective": "paper", "triplets": 3000, "folds": 0, "word_dropout": 0.0, "l2": 1e-3},
        "training": {"batch": 128},
    },
}  # fmt: skip


def select_recipe(name: str) -> NNSelectRecipe:
    training = {"epochs": 3, "patience": 3, "optimizer": {"learning_rate": 0.02}}
    changes = SELECT[name]
    return NNSelectRecipe.parse(
        {"model": {"dimension": 16}} | changes | {"training": training | changes["training"]}
    )


def rank_recipe(name: str) -> NNRankRecipe:
    training = {"epochs": 2, "patience": 2, "optimizer": {"learning_rate": 0.01}}
    changes = RANK[name]
    plain = {"model": {"dimension": 8}, "candidates": {"neighbours": 20}}
    return NNRankRecipe.parse(plain | changes | {"training": training | changes["training"]})


def epochs_of(task: TrainTask[Any], settings: TrainingSettings) -> list[dict[str, float]]:
    """Dev metrics of each epoch, the start's first, with the mean loss of its steps."""
    epochs: list[dict[str, float]] = []
    losses: list[float] = []

    def log(metrics: dict[str, float], step: int) -> None:
        if "loss" in metrics:
            losses.append(metrics["loss"])
        else:
            epochs.append(({"loss": sum(losses) / len(losses)} if losses else {}) | metrics)
            losses.clear()

    train(task, settings.model_copy(update={"log_every": 1}), world=World(), log=log)
    return epochs


def trained_select(corpus: Corpus, name: str) -> tuple[NNSelectTask, FieldEncoder, list[dict[str, float]]]:
    periods = Periods.of(corpus, PeriodSettings(dev_queries=100))
    recipe = select_recipe(name)
    fields = FieldEncoder.build(periods.history, recipe.fields)
    task = nnselect_task(recipe, periods, fields)
    return task, fields, epochs_of(task, recipe.training)


def trained_rank(corpus: Corpus, name: str) -> list[dict[str, float]]:
    select, fields, _ = trained_select(corpus, "in_batch")
    encoder, recipe = NNSelectEncoder(select.model, fields, "trained"), rank_recipe(name)
    fit_folds = None
    if recipe.objective.folds:
        fit_folds = partial(cross_fit, select.recipe, select.periods, fields, recipe.objective.folds, 2)
    return epochs_of(nnrank_task(recipe, select.periods, fields, encoder, fit_folds), recipe.training)


def compare(kind: str, name: str, epochs: list[dict[str, float]]) -> None:
    pinned = json.loads(PINNED.read_text(encoding="utf-8"))
    found = [{key: round(value, 6) for key, value in epoch.items() if key != "seconds"} for epoch in epochs]
    expected = pinned[kind][name]
    assert len(found) == len(expected)
    for epoch, (new, old) in enumerate(zip(found, expected, strict=True)):
        assert new == pytest.approx(old, abs=1e-4), epoch


@pytest.fixture
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(600, seed=11)


@pytest.mark.parametrize("name", SELECT)
def test_nnselect(corpus: Corpus, name: str) -> None:
    compare("nnselect", name, trained_select(corpus, name)[2])


@pytest.mark.parametrize("name", RANK)
def test_nnrank(corpus: Corpus, name: str) -> None:
    compare("nnrank", name, trained_rank(corpus, name))

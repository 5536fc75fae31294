"""Two processes train NNSelect and NNRank to the losses and weights of one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.many_processes import together
from helpers.synthetic import SyntheticCorpora
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.nnrank.cross_fitting import cross_fit
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnrank.task import nnrank_task
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.task import nnselect_task
from cocite.text.fields import FieldEncoder
from cocite.training.engine.loop import train
from cocite.training.engine.world import World
from cocite.training.periods import Periods

pytestmark = pytest.mark.integration

Found = tuple[list[float], dict[str, NDArray[np.float32]]]
"""Loss of each step, then each dev metric; and the weights at the end."""
SMALL = {"epochs": 2, "batch": 64, "log_every": 1, "steps": 12, "optimizer": {"learning_rate": 0.01}}
CASES = (
    "nnselect in_batch",
    "nnselect in_batch in pieces",
    "nnselect paper",
    "nnrank listwise",
    "nnrank paper",
)


def task_of(case: str, corpus: Corpus, training: dict[str, Any]) -> Any:
    kind, objective, *pieces = case.split()
    if pieces:
        training = {**training, "tokens": 3000}
    select = NNSelectRecipe.parse(
        {
            "model": {"dimension": 8},
            "objective": {
                "objective": objective if kind == "nnselect" else "in_batch",
                "triplets": 1500,
                "word_dropout": 0.0,
            },
            "training": training,
        }
    )
    periods = Periods.of(corpus, select.period)
    fields = FieldEncoder.build(periods.history, select.fields)
    if kind == "nnselect":
        return nnselect_task(select, periods, fields)
    torch.manual_seed(1)
    encoder = NNSelectEncoder(NNSelect(len(fields.vocabularies["words"]), 8), fields, "untrained")
    rank = NNRankRecipe.parse(
        {
            "model": {"dimension": 8},
            "objective": {
                "objective": objective,
                "triplets": 1500,
                "listed": 10,
                "table_rate": 1e-3,
                "word_dropout": 0.0,
            },
            "candidates": {"neighbours": 20},
            "training": {**training, "batch": 16},
        }
    )
    fit_folds = partial(cross_fit, select, periods, fields, 2, 1) if objective == "listwise" else None
    return nnrank_task(rank, periods, fields, encoder, fit_folds)


def trained(world: World, case: str, store: Path) -> Found:
    task = task_of(case, Corpus.open(store), SMALL | {"backend": "ddp" if world.size > 1 else "plain"})
    values: list[float] = []

    def log(metrics: dict[str, float], step: int) -> None:
        values.extend([metrics["loss"]] if "loss" in metrics else metrics.values())

    train(task, task.recipe.training, world=world, log=log)
    return values, {name: value.numpy() for name, value in task.model.state_dict().items()}


def all_cases(world: World, store: Path) -> dict[str, Found]:
    return {case: trained(world, case, store) for case in CASES}


@pytest.fixture(scope="module")
def store(synthetic: SyntheticCorpora) -> Path:
    return synthetic(300, seed=5).path


@pytest.fixture(scope="module")
def ranks(store: Path) -> list[dict[str, Found]]:
    return together(all_cases, store)


@pytest.mark.parametrize("case", CASES)
def test_two_processes_give_the_losses_and_weights_of_one(
    ranks: list[dict[str, Found]], store: Path, case: str
) -> None:
    alone, weights = trained(World(), case, store)
    values, _ = ranks[0][case]
    assert values == pytest.approx(alone, rel=1e-4, abs=1e-5)
    # A softmax does not see a shift of all scores: its last bias has a gradient of 0, and Adam steps by the noise.
    blind = {"layers.4.bias"} if case == "nnrank listwise" else set()
    for rank in ranks:
        for name, value in rank[case][1].items():
            assert name in blind or value == pytest.approx(weights[name], abs=1e-2), name


def test_all_ranks_hold_the_same_weights(ranks: list[dict[str, Found]]) -> None:
    for case in CASES:
        for name, value in ranks[0][case][1].items():
            assert np.array_equal(value, ranks[1][case][1][name]), (case, name)

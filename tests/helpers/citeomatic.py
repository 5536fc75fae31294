"""Citeomatic's networks, untrained, and small trainings of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.protocols import Query
from cocite.systems.citeomatic.nnrank.cross_fitting import FoldVectors
from cocite.systems.citeomatic.nnrank.network import NNRank, NNRankModelSettings
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnrank.task import nnrank_task
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.task import nnselect_task
from cocite.text.fields import FieldEncoder, FieldSettings
from cocite.training.engine.loop import train
from cocite.training.engine.result import TrainResult
from cocite.training.engine.world import World
from cocite.training.periods import Periods, PeriodSettings

SELECT: dict[str, Any] = {
    "model": {"dimension": 16},
    "objective": {"triplets": 3000, "word_dropout": 0.2},
    "training": {"epochs": 3, "batch": 128, "optimizer": {"learning_rate": 0.02}},
}
RANK: dict[str, Any] = {
    "model": {"dimension": 8},
    "objective": {"triplets": 3000, "listed": 20, "folds": 0},
    "candidates": {"neighbours": 20},
    "training": {"epochs": 2, "batch": 32, "optimizer": {"learning_rate": 0.01}},
}


def sets_as_bags(sets: list[set[int]]) -> CSR:
    """Bags of the given types."""
    owners = [number for number, values in enumerate(sets) for _ in values]
    return CSR.build(np.array(owners, int), np.array([v for values in sets for v in values], int), len(sets))


def untrained_nnrank(fields: FieldEncoder, **settings: object) -> NNRank:
    """A network with all features unless told otherwise, whose shared weights differ."""
    torch.manual_seed(1)
    switches = {"dimension": 6, "authors": True, "venue": True, "keyphrases": True, **settings}
    network = NNRank({n: len(v) for n, v in fields.vocabularies.items()}, NNRankModelSettings.parse(switches))
    network.shared_weight.data.uniform_(-1, 1)
    return network


def queries_of(corpus: Corpus, rows: list[int]) -> list[Query]:
    """Papers of a corpus as queries."""
    return [
        Query(
            record.id,
            title=record.title,
            abstract=record.abstract,
            year=record.year,
            authors=record.authors,
            venue=record.venue,
            keyphrases=record.keyphrases,
            paper=row,
        )
        for row, record in zip(rows, corpus.papers_at(rows), strict=True)
    ]


def periods_of(corpus: Corpus) -> Periods:
    return Periods.of(corpus, PeriodSettings(dev_queries=100))


def select_task(
    corpus: Corpus, objective: str = "in_batch", encoder: str = "bag", **objective_settings: Any
) -> Any:
    """A task of NNSelect."""
    settings = {
        **SELECT,
        "model": {**SELECT["model"], "encoder": encoder},
        "objective": {**SELECT["objective"], "objective": objective, **objective_settings},
    }
    periods = periods_of(corpus)
    fields = FieldEncoder.build(periods.history, FieldSettings())
    return nnselect_task(NNSelectRecipe.parse(settings), periods, fields)


def rank_task(
    corpus: Corpus,
    encoder: NNSelectEncoder,
    fit_folds: Callable[..., FoldVectors] | None = None,
    **objective: Any,
) -> Any:
    """A task of NNRank that has its candidates."""
    recipe = NNRankRecipe.parse({**RANK, "objective": {**RANK["objective"], **objective}})
    task = nnrank_task(recipe, periods_of(corpus), encoder.fields, encoder, fit_folds)
    task.prepare(World(), lambda _: None)
    return task


def untrained_encoder(corpus: Corpus) -> NNSelectEncoder:
    """NNSelect with random vectors."""
    task = select_task(corpus)
    return NNSelectEncoder(task.model, task.fields, "untrained")


def train_alone(task: Any, **changes: Any) -> TrainResult:
    """Train a task in this process, with changed training settings."""
    return train(task, task.recipe.training.model_copy(update=changes), world=World())

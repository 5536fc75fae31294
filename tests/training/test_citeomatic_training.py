from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import NO_ROW, Ranking
from cocite.systems.citeomatic.cross_fitting import FoldVectors, cross_fit
from cocite.systems.citeomatic.negatives import Triplets
from cocite.systems.citeomatic.nnrank_task import CitationsBefore, NNRankRecipe, NNRankTask, nnrank_optimizers
from cocite.systems.citeomatic.nnselect_encoder import NNSelectEncoder
from cocite.systems.citeomatic.nnselect_task import (
    CitationBatch,
    NNSelectRecipe,
    NNSelectTask,
    nnselect_optimizers,
)
from cocite.text.fields import FieldEncoder, FieldSettings
from cocite.training.loop import fit
from cocite.training.measure import ranking_metrics
from cocite.training.periods import Periods, PeriodSettings

SELECT: dict[str, Any] = {
    "model": {"dimension": 16},
    "objective": {"batch": 128, "triplets": 3000, "word_dropout": 0.2},
    "training": {"epochs": 3, "optimizer": {"learning_rate": 0.02}},
}
RANK: dict[str, Any] = {
    "model": {"dimension": 8},
    "objective": {"batch": 32, "triplets": 3000, "listed": 20, "folds": 0},
    "candidates": {"neighbours": 20},
    "training": {"epochs": 2, "optimizer": {"learning_rate": 0.01}},
}


def periods(corpus: Corpus) -> Periods:
    return Periods.of(corpus, PeriodSettings(dev_queries=100))


def select(corpus: Corpus, objective: str = "in_batch", **more: Any) -> NNSelectTask:
    settings = {**SELECT, "objective": {**SELECT["objective"], "objective": objective, **more}}
    known = periods(corpus)
    return NNSelectTask(
        NNSelectRecipe.parse(settings), known, FieldEncoder.build(known.history, FieldSettings())
    )


# -- NNSelect -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["in_batch", "paper"])
def test_nnselect_learns(corpus: Corpus, objective: str) -> None:
    task = select(corpus, objective, l1=1e-6, l2=1e-6)
    result = fit(task, nnselect_optimizers(task), task.recipe.loop)
    assert result.best["R@20"] > result.epochs[0]["R@20"] + 0.05
    assert result.epochs[-1]["loss"] < result.epochs[1]["loss"]
    assert sum(1 for _ in task.batches(1)) == pytest.approx(task.steps, abs=1)


def test_the_seed_decides_the_weights(corpus: Corpus) -> None:
    tables = []
    for _ in range(2):
        task = select(corpus)
        settings = task.recipe.loop.model_copy(update={"epochs": 1})
        fit(task, nnselect_optimizers(task), settings)
        tables.append(task.model.words.direction.detach())
    assert torch.equal(*tables)


def test_candidates_of_a_batch_are_forbidden_where_they_are_no_negatives(corpus: Corpus) -> None:
    task = select(corpus)
    cites = [set(task.negatives.cites[row].tolist()) for row in range(len(corpus))]
    batch = next(iter(task.batches(1)))
    assert isinstance(batch, CitationBatch)
    forbidden = task._forbidden(batch)
    for i, query in enumerate(batch.query):
        for j, paper in enumerate(batch.candidates):
            wrong = paper in cites[query] or paper == query or corpus.years[paper] > corpus.years[query]
            assert forbidden[i, j] == (wrong and j != batch.target[i])
        assert batch.candidates[batch.target[i]] in cites[query]


# -- NNRank ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(corpus: Corpus) -> NNSelectEncoder:
    task = select(corpus)
    fit(task, nnselect_optimizers(task), task.recipe.loop)
    fields = FieldEncoder.build(periods(corpus).history, FieldSettings())
    return NNSelectEncoder(task.model, fields, "trained")


def rank(
    corpus: Corpus, encoder: NNSelectEncoder, folds: FoldVectors | None = None, **objective: Any
) -> NNRankTask:
    recipe = NNRankRecipe.parse({**RANK, "objective": {**RANK["objective"], **objective}})
    return NNRankTask(recipe, periods(corpus), encoder.fields, encoder, folds)


@pytest.mark.parametrize("objective", ["listwise", "paper"])
def test_nnrank_orders_better_than_nnselect(corpus: Corpus, trained: NNSelectEncoder, objective: str) -> None:
    task = rank(corpus, trained, objective=objective, l2=1e-6)
    first = ranking_metrics(task.dev, task.periods.dev, corpus.cites)
    result = fit(task, nnrank_optimizers(task), task.recipe.loop)
    assert result.best["MRR"] > first["MRR"]
    assert result.best["F1@20"] > first["F1@20"]
    assert sum(1 for _ in task.batches(1)) == pytest.approx(task.steps, abs=1)


def test_lists_hold_citations_first_and_no_forbidden_paper(corpus: Corpus, trained: NNSelectEncoder) -> None:
    task = rank(corpus, trained, positives=3)
    cites = [set(task.negatives.cites[row].tolist()) for row in range(len(corpus))]
    for batch in task.batches(1):
        assert not isinstance(batch, Triplets)
        for query, rows, relevant in zip(batch.query, batch.rows, batch.relevant, strict=True):
            cited = rows[relevant]
            assert set(cited.tolist()) <= cites[query]
            assert len(cited) == min(3, len(cites[query])) == len(set(cited.tolist()))
            others = rows[~relevant & (rows != NO_ROW)]
            assert not set(others.tolist()) & (cites[query] | {query})
            assert (corpus.years[others] <= corpus.years[query]).all()


def test_a_pair_is_trained_on_what_it_is_ranked_by(corpus: Corpus, trained: NNSelectEncoder) -> None:
    """Without dropout and with the whole history known, training and reranking give one score."""
    task = rank(corpus, trained, temporal=False, word_dropout=0.0)
    query = task.negatives.queries[:5]
    rows = np.arange(40, dtype=np.int32).reshape(5, 8) + 50
    logits, _ = task.logits(np.repeat(query, 8), rows.ravel())
    ranked = task.reranker.score_bags(
        {f: task_bag(bag, query) for f, bag in task.bags.items()}, task.vectors[query], query, rows
    )
    assert logits.detach().numpy().reshape(5, 8) == pytest.approx(ranked, abs=1e-5)


def task_bag(bag: CSR, rows: np.ndarray) -> CSR:
    lists = [bag[row] for row in rows]
    owners = np.repeat(np.arange(len(lists)), [len(entries) for entries in lists])
    return CSR.build(owners, np.concatenate(lists), len(lists))


def test_citations_before_a_year(corpus: Corpus) -> None:
    history = periods(corpus).history
    before = CitationsBefore(history)
    rng = np.random.default_rng(0)
    query, paper = rng.integers(0, len(corpus), (2, 200)).astype(np.int32)
    expected = [
        sum(corpus.years[c] < corpus.years[q] for c in history.cited_by[p])
        for q, p in zip(query, paper, strict=True)
    ]
    assert before(query, paper).tolist() == expected
    assert sum(expected) > 0


def test_folds_have_not_seen_their_queries(corpus: Corpus, trained: NNSelectEncoder) -> None:
    recipe = NNSelectRecipe.parse(SELECT)
    known, seen = periods(corpus), []
    folds = cross_fit(recipe, known, trained.fields, 2, 1, log=lambda number, _: seen.append(number))
    assert seen == [0, 1]
    assert folds.vectors.shape == (2, len(corpus), 16)
    query, paper = np.array([3, 4], np.int32), np.array([7, 8], np.int32)
    expected = [
        folds.vectors[folds.fold[q], q] @ folds.vectors[folds.fold[q], p] for q, p in ((3, 7), (4, 8))
    ]
    assert folds.cosine(query, paper) == pytest.approx(expected, abs=1e-6)
    # Fold 0 is what a training on the other fold's citations alone gives.
    without = Periods(History(corpus, known.history.citing & (folds.fold != 0)), known.dev)
    task = NNSelectTask(recipe, without, trained.fields)
    fit(task, nnselect_optimizers(task), recipe.loop.model_copy(update={"epochs": 1}))
    assert np.array_equal(task.vectors(), folds.vectors[0])
    assert rank(corpus, trained, folds).training_candidates(task.negatives.queries[:9]).shape[0] == 9


# -- measures and periods -------------------------------------------------------------------------------------


def test_metrics_by_hand() -> None:
    rows = np.array([[5, 1, NO_ROW], [2, 3, 4]], np.int32)
    relevant = CSR.build(np.array([0, 0, 1]), np.array([1, 9, 7]), 2)
    found = ranking_metrics(
        Ranking(rows, np.zeros((2, 3), np.float32)), np.array([0, 1], np.int32), relevant, k=2
    )
    assert found["P@2"] == pytest.approx((0.5 + 0) / 2)
    assert found["R@2"] == pytest.approx((0.5 + 0) / 2)
    assert found["F1@2"] == pytest.approx(0.25)
    assert found["MRR"] == pytest.approx(0.25)
    assert found["recall"] == pytest.approx(0.25)


def test_periods_by_year(corpus: Corpus) -> None:
    years = np.asarray(corpus.years)
    year = int(np.median(years))
    found = Periods.of(corpus, PeriodSettings(train_until=year, dev_until=year + 1))
    assert years[found.history.citing].max() == year
    assert set(years[found.dev].tolist()) == {year + 1}
    assert (corpus.cites.degrees[found.dev] > 0).all()
    few = Periods.of(corpus, PeriodSettings(train_until=year, dev_until=year + 1, dev_queries=7))
    assert len(few.dev) == len(set(few.dev.tolist())) == 7
    auto = Periods.of(corpus, PeriodSettings())
    assert years[auto.dev].min() > years[auto.history.citing].max()
    with pytest.raises(InputError, match="dev_until"):
        Periods.of(corpus, PeriodSettings(train_until=int(years.max())))
    with pytest.raises(InputError, match="train_until"):
        Periods.of(corpus, PeriodSettings(train_until=1))

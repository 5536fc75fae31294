from __future__ import annotations

import numpy as np
import pytest
from helpers.citeomatic import SELECT, periods_of, train_alone

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.nnrank.cross_fitting import FoldVectors, cross_fit
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.task import nnselect_task
from cocite.text.fields import FieldEncoder, FieldSettings
from cocite.training.periods import Periods


def test_folds_have_not_seen_their_queries(training_corpus: Corpus) -> None:
    corpus, recipe = training_corpus, NNSelectRecipe.parse(SELECT)
    known, stages = periods_of(corpus), []
    fields = FieldEncoder.build(known.history, FieldSettings())
    folds = cross_fit(recipe, known, fields, 2, 1, stage=stages.append)
    assert stages == ["NNSelect for fold 1 of 2", "NNSelect for fold 2 of 2"]
    assert folds.vectors.shape == (2, len(corpus), 16)
    query, paper = np.array([3, 4], np.int32), np.array([7, 8], np.int32)
    expected = [
        folds.vectors[folds.fold[q], q] @ folds.vectors[folds.fold[q], p] for q, p in ((3, 7), (4, 8))
    ]
    assert folds.cosine(query, paper) == pytest.approx(expected, abs=1e-6)
    # Fold 0 is what a training on the other fold's citations alone gives.
    without = Periods(History(corpus, known.history.citing & (folds.fold != 0)), known.dev)
    task = nnselect_task(recipe, without, fields)
    train_alone(task, epochs=1)
    assert np.array_equal(task.vectors(), folds.vectors[0])


def test_one_set_of_vectors_serves_all_queries() -> None:
    vectors = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    folds = FoldVectors.same(vectors)
    query, paper = np.array([0, 4]), np.array([1, 1])
    assert folds.cosine(query, paper) == pytest.approx((vectors[query] * vectors[paper]).sum(1), abs=1e-6)

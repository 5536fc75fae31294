from __future__ import annotations

import numpy as np
import torch
from helpers.citeomatic import rank_task, select_task, train_alone, untrained_encoder

from cocite.corpus.store import Corpus
from cocite.nn.softmax_losses import listwise_losses
from cocite.protocols import NO_ROW
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder
from cocite.training.measure import ranking_metrics


def test_it_orders_better_than_nnselect(training_corpus: Corpus) -> None:
    select = select_task(training_corpus)
    train_alone(select)
    task = rank_task(training_corpus, NNSelectEncoder(select.model, select.fields, "trained"), l2=1e-6)
    first = ranking_metrics(task.dev, task.periods.dev, training_corpus.cites)
    result = train_alone(task)
    assert result.best["MRR"] > first["MRR"]
    assert result.best["F1@20"] > first["F1@20"]


def test_lists_hold_citations_first_and_no_forbidden_paper(training_corpus: Corpus) -> None:
    corpus = training_corpus
    task = rank_task(corpus, untrained_encoder(corpus), positives=3)
    cites = [set(task.negatives.cites[row].tolist()) for row in range(len(corpus))]
    lists = task.lists(0)
    assert sorted(lists.query.tolist()) == task.negatives.queries.tolist()
    for query, rows, relevant in zip(lists.query, lists.rows, lists.relevant, strict=True):
        cited = rows[relevant]
        assert set(cited.tolist()) <= cites[query]
        assert len(cited) == min(3, len(cites[query])) == len(set(cited.tolist()))
        others = rows[~relevant & (rows != NO_ROW)]
        assert not set(others.tolist()) & (cites[query] | {query})
        assert (corpus.years[others] <= corpus.years[query]).all()


def test_epochs_draw_other_lists(training_corpus: Corpus) -> None:
    task = rank_task(training_corpus, untrained_encoder(training_corpus), positives=2)
    first, second = task.lists(0), task.lists(1)
    assert not np.array_equal(first.query, second.query)
    assert np.array_equal(task.lists(0).rows, first.rows)


def test_the_loss_is_the_softmax_over_each_list(training_corpus: Corpus) -> None:
    task = rank_task(training_corpus, untrained_encoder(training_corpus), word_dropout=0.0)
    examples = np.array([4, 9, 11])
    losses = task.loss(task.model, task.collate(examples, 0))
    lists = task.lists(0)
    for loss, number in zip(losses, examples, strict=True):
        rows = lists.rows[number]
        known = rows != NO_ROW
        pairs = task.pairs(np.full(known.sum(), lists.query[number]), rows[known])
        logits, _ = task.logits(task.model, pairs)
        relevant = torch.from_numpy(lists.relevant[number][known])[None]
        expected = listwise_losses(logits[None], relevant, torch.ones_like(relevant))
        torch.testing.assert_close(loss, expected[0], rtol=1e-4, atol=1e-5)

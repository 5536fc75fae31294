from __future__ import annotations

import numpy as np
import torch
from helpers.citeomatic import rank_task, train_alone, untrained_encoder

from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.losses import NEIGHBOUR, margin_triplet_losses
from cocite.training.engine.world import World
from cocite.training.measure import ranking_metrics


def test_it_orders_better_than_nnselect(training_corpus: Corpus) -> None:
    task = rank_task(training_corpus, untrained_encoder(training_corpus), objective="paper", l2=1e-6)
    first = ranking_metrics(task.dev, task.periods.dev, training_corpus.cites)
    result = train_alone(task)
    assert result.best["MRR"] > first["MRR"]
    assert result.best["F1@20"] > first["F1@20"]


def test_the_loss_is_the_margin_between_two_probabilities(training_corpus: Corpus) -> None:
    task = rank_task(
        training_corpus, untrained_encoder(training_corpus), objective="paper", word_dropout=0.0, gamma=2.0
    )
    examples = np.arange(20, 30)
    losses = task.loss(task.model, task.collate(examples, 0))
    drawn = task.triplets(0)[examples]
    scores = [
        torch.sigmoid(task.logits(task.model, task.pairs(drawn.query, papers))[0])
        for papers in (drawn.positive, drawn.negative)
    ]
    counts = torch.from_numpy(task.periods.history.in_citations.astype(np.float32))
    kind = torch.from_numpy(drawn.kind.astype(np.int64))
    expected = margin_triplet_losses(*scores, kind, counts[drawn.positive], counts[drawn.negative], gamma=2.0)
    torch.testing.assert_close(losses, expected, rtol=1e-4, atol=1e-5)


def test_neighbours_are_found_once_and_the_same_again(training_corpus: Corpus) -> None:
    encoder = untrained_encoder(training_corpus)
    task, again = (rank_task(training_corpus, encoder, objective="paper") for _ in range(2))
    kept = task.prepare(World(), lambda _: None)
    table = task.negatives.neighbours
    assert len(table.indices)
    task.refresh(task.model, World(), 50)
    assert task.negatives.neighbours is table
    again.negatives.neighbours = task.negatives.cites
    again.load_prepared(kept)
    drawn = again.triplets(3)
    assert np.array_equal(drawn.negative, task.triplets(3).negative)
    assert (drawn.kind == NEIGHBOUR).any()

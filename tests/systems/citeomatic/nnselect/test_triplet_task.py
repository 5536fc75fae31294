from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.citeomatic import select_task, train_alone

from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.losses import margin_triplet_losses
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World


def test_it_learns(training_corpus: Corpus) -> None:
    task = select_task(training_corpus, "paper", l1=1e-6, l2=1e-6)
    assert not isinstance(task, ContrastiveTask)
    result = train_alone(task)
    assert result.best["R@20"] > result.start["R@20"] + 0.05
    assert result.steps == pytest.approx(3 * task.steps, abs=3)


def test_the_loss_is_that_of_each_triplets_vectors(training_corpus: Corpus) -> None:
    task = select_task(training_corpus, "paper", word_dropout=0.0)
    task.refresh(task.model, World(), 0)
    drawn, examples = task.triplets(0), np.arange(7, 40)
    losses = task.loss(task.model, task.collate(examples, 0))
    vectors = torch.from_numpy(task.vectors())
    some = drawn[examples]
    query, positive, negative = (
        vectors[torch.from_numpy(rows).long()] for rows in (some.query, some.positive, some.negative)
    )
    counts = torch.from_numpy(task.periods.history.in_citations)
    expected = margin_triplet_losses(
        (query * positive).sum(1),
        (query * negative).sum(1),
        torch.from_numpy(some.kind.astype(np.int64)),
        counts[some.positive],
        counts[some.negative],
    )
    torch.testing.assert_close(losses, expected, rtol=1e-4, atol=1e-5)


def test_an_example_beyond_the_triplets_stands_for_one_of_them(training_corpus: Corpus) -> None:
    """Neighbours that are mined within an epoch may leave fewer triplets than the epoch began with."""
    task = select_task(training_corpus, "paper")
    count = len(task.triplets(0))
    first, beyond = (task.collate(np.array([number]), 0) for number in (3, count + 3))
    assert torch.equal(first.title.types, beyond.title.types)


def test_lengths_are_the_words_of_three_papers(training_corpus: Corpus) -> None:
    task = select_task(training_corpus, "paper")
    drawn, lengths = task.triplets(0), task.lengths(0)
    assert len(lengths) == len(drawn)
    papers = (drawn.query[5], drawn.positive[5], drawn.negative[5])
    assert lengths[5] == sum(len(task.bags[f][p]) for f in ("title", "abstract") for p in papers)

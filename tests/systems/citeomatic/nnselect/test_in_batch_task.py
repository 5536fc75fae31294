from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.citeomatic import select_task, train_alone

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW
from cocite.training.engine.batches import EpochPlan
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World


def test_it_learns(training_corpus: Corpus) -> None:
    task = select_task(training_corpus, l1=1e-6, l2=1e-6)
    assert isinstance(task, ContrastiveTask)
    result = train_alone(task)
    assert result.best["R@20"] > result.start["R@20"] + 0.05
    assert EpochPlan(task.lengths(0), task.recipe.training, 0, ordered=True).steps == task.steps


def test_the_seed_decides_the_weights(training_corpus: Corpus) -> None:
    tables = []
    for _ in range(2):
        task = select_task(training_corpus)
        train_alone(task, epochs=1)
        tables.append(task.model.words.direction.detach())
    assert torch.equal(*tables)


def test_candidates_of_a_step_are_forbidden_where_they_are_no_negatives(training_corpus: Corpus) -> None:
    task = select_task(training_corpus)
    task.refresh(task.model, World(), 0)
    cites = [set(task.negatives.cites[row].tolist()) for row in range(len(training_corpus))]
    drawn, examples = task.citations(0), np.arange(128)
    _, candidates = drawn.papers(examples)
    target = np.searchsorted(candidates, drawn.positive[examples])
    forbidden = task.forbidden(drawn.query[examples], candidates, target)
    years = training_corpus.years
    for i, query in enumerate(drawn.query[examples]):
        for j, paper in enumerate(candidates):
            wrong = paper in cites[query] or paper == query or years[paper] > years[query]
            assert forbidden[i, j] == (wrong and j != target[i])
        assert candidates[target[i]] in cites[query]


def test_each_citation_comes_once_an_epoch_with_its_negatives(training_corpus: Corpus) -> None:
    task = select_task(training_corpus, extra=[1, 0, 2])
    one, other = task.citations(0), task.citations(1)
    links = {(q, int(p)) for q in task.negatives.queries.tolist() for p in task.negatives.cites[q]}
    for drawn in (one, other):
        assert set(zip(drawn.query.tolist(), drawn.positive.tolist(), strict=True)) == links
        assert drawn.negatives.shape == (len(links), 3)
    assert not np.array_equal(one.query, other.query)
    known = one.negatives != NO_ROW
    query = np.broadcast_to(one.query[:, None], known.shape)[known]
    assert not training_corpus.cites.contains(query, one.negatives[known]).any()


def test_pieces_of_a_step_lose_as_the_whole_step(training_corpus: Corpus) -> None:
    task = select_task(training_corpus, word_dropout=0.0, correction=0.5)
    task.refresh(task.model, World(), 0)
    task.model.train()
    examples = np.arange(60)
    losses = []
    for pieces in ([examples], [examples[:25], examples[25:26], examples[26:]]):
        vectors = torch.cat([task.embed(task.model, task.collate(piece, 0)).vectors for piece in pieces])
        losses.append(task.contrast(vectors, pieces, 0))
    torch.testing.assert_close(*losses, rtol=1e-5, atol=1e-6)


def test_the_loss_of_a_batch_is_that_of_a_step_of_its_own(training_corpus: Corpus) -> None:
    task = select_task(training_corpus, word_dropout=0.0, l2=0.01)
    batch = task.collate(np.arange(20), 0)
    embedded = task.embed(task.model, batch)
    expected = task.contrast(embedded.vectors, [np.arange(20)], 0) + embedded.penalty
    assert torch.equal(task.loss(task.model, batch), expected)
    assert expected.shape == (20,)


def test_lengths_are_the_words_of_an_examples_papers(training_corpus: Corpus) -> None:
    task = select_task(training_corpus, extra=[1, 0, 0])
    drawn = task.citations(0)
    lengths = task.lengths(0)
    for number in (0, 17):
        papers = [drawn.query[number], drawn.positive[number], *drawn.negatives[number]]
        expected = sum(len(task.bags[f][p]) for f in ("title", "abstract") for p in papers if p != NO_ROW)
        assert lengths[number] == expected


def test_neighbours_mined_anew_change_what_is_drawn(training_corpus: Corpus) -> None:
    task = select_task(training_corpus, extra=[0, 2, 0])
    before = task.citations(0).negatives
    assert (before == NO_ROW).all()
    task.refresh(task.model, World(), 0)
    after = task.citations(0).negatives
    assert (after != NO_ROW).any()
    again = select_task(training_corpus, extra=[0, 2, 0])
    again.load_mined(task.mined())
    assert np.array_equal(again.citations(0).negatives, after)


def test_the_penalty_is_that_of_the_words_used(training_corpus: Corpus) -> None:
    task = select_task(training_corpus, l1=0.1, l2=0.01, word_dropout=0.0)
    batch = task.collate(np.arange(5), 0)
    penalty = task.embed(task.model, batch).penalty
    types = torch.cat([batch.title.types, batch.abstract.types]).unique()
    vectors = task.model.words(types)
    expected = 0.1 * vectors.abs().sum(1).mean() + 0.01 * vectors.square().sum(1).mean()
    assert penalty.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("kind", ["cnn", "rnn"])
@pytest.mark.parametrize("objective", ["in_batch", "paper"])
def test_other_encoders_learn(training_corpus: Corpus, kind: str, objective: str) -> None:
    task = select_task(training_corpus, objective, encoder=kind)
    result = train_alone(task, epochs=4)
    assert result.best["R@20"] > result.start["R@20"] + 0.05
    words = [len(task.texts["abstract"][row]) + len(task.texts["title"][row]) for row in range(20)]
    assert task.sizes[:20].tolist() == words
    batch = task.collate(np.arange(8), 0)
    assert task.flops(batch) > 6.0 * task.model.multiplications * len(batch.abstract.types)

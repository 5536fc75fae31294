"""Citations as examples: what is sample for them, and their batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.small_mp_bert4cr import mp_bert4cr_recipe, prepared_task

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW


def test_an_example_is_a_citation_of_the_training_period(corpus: Corpus, folder: Path) -> None:
    task = prepared_task(mp_bert4cr_recipe(), corpus, folder)
    examples = np.arange(len(task.lengths(0)))
    sample = task.examples.sample(examples, 0)
    assert len(sample.contexts) == len(examples) > 200
    assert corpus.years[corpus.context_citing[sample.contexts]].max() <= 2015
    assert corpus.context_cited.contains(sample.contexts, sample.targets).all()
    assert sample.positives.shape == (len(examples), 3)
    assert sample.negatives.shape == (len(examples), 4)
    assert (sample.positives != NO_ROW).any()
    citing = corpus.context_citing[sample.contexts]
    assert not corpus.cites.contains(citing[:, None], sample.negatives).any()
    held = np.unique(np.concatenate([sample.targets, sample.positives.ravel(), sample.negatives.ravel()]))
    assert np.array_equal(sample.papers, held[held != NO_ROW])


def test_negatives_are_counted_and_spared_as_the_recipe_says(corpus: Corpus, folder: Path) -> None:
    ours, paper = (
        prepared_task(mp_bert4cr_recipe(negatives=negatives), corpus, folder)
        for negatives in ({}, {"counted": "occurrences", "spare_manuscript": False, "count": 20})
    )
    assert not np.array_equal(paper.examples.negatives.noise.masses, ours.examples.negatives.noise.masses)
    sample = paper.examples.sample(np.arange(len(paper.examples)), 0)
    citing = corpus.context_citing[sample.contexts]
    assert corpus.cites.contains(citing[:, None], sample.negatives).any()
    assert not corpus.context_cited.contains(sample.contexts[:, None], sample.negatives).any()
    assert not (sample.negatives[:, :, None] == sample.positives[:, None]).any()


def test_an_example_hangs_on_seed_epoch_and_number_alone(corpus: Corpus, folder: Path) -> None:
    task = prepared_task(mp_bert4cr_recipe(), corpus, folder)
    together, alone = task.collate(np.array([4, 9, 2]), 1), task.collate(np.array([9]), 1)
    assert np.array_equal(together.sample.positives[1], alone.sample.positives[0])
    assert np.array_equal(together.sample.negatives[1], alone.sample.negatives[0])
    task.model.eval()
    with torch.no_grad():
        whole = task.model(together.manuscripts, together.papers)
        part = task.model(alone.manuscripts, alone.papers)
    torch.testing.assert_close(whole[1], part[0], rtol=1e-4, atol=1e-4)
    place = np.searchsorted(together.sample.papers, alone.sample.papers)
    torch.testing.assert_close(whole[3:][place], part[1:], rtol=1e-4, atol=1e-4)
    other = task.collate(np.array([9]), 2)
    assert not np.array_equal(other.sample.negatives, alone.sample.negatives)


def test_lengths_tell_the_tokens_of_a_batch(corpus: Corpus, folder: Path) -> None:
    task = prepared_task(mp_bert4cr_recipe(), corpus, folder)
    lengths = task.lengths(0)
    batches = [task.collate(np.array([i]), 0) for i in range(0, 200, 10)]
    tokens = [len(batch.manuscripts.ids) + len(batch.papers.ids) for batch in batches]
    # Every example is reckoned with all the positives that it may draw; few have any.
    assert 0.9 < lengths[:200:10].mean() / np.mean(tokens) < 2.0


def test_the_correction_makes_up_for_how_often_a_paper_comes(corpus: Corpus, folder: Path) -> None:
    shared = {"shared": True, "count": 1}
    plain, half, whole = (
        prepared_task(mp_bert4cr_recipe(negatives={**shared, "correction": power}), corpus, folder)
        for power in (0.0, 0.5, 1.0)
    )
    papers = np.arange(len(corpus), dtype=np.int32)
    often = 1 + np.bincount(whole.examples.citations.targets, minlength=len(corpus))
    found = whole.examples.weights(papers)
    assert found * often == pytest.approx(np.full(len(corpus), often.mean()), rel=1e-5)
    assert half.examples.weights(papers) ** 2 == pytest.approx(found, rel=1e-5)
    assert np.array_equal(plain.examples.weights(papers), np.ones(len(corpus)))
    batch = plain.collate(np.arange(20), 0)
    with torch.no_grad():
        losses = [task.loss(plain.model.eval(), batch) for task in (plain, whole)]
    assert not torch.allclose(*losses, rtol=1e-3)

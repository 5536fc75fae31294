"""Documents of papers, and the sentences that are hidden in them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from helpers.goodness_of_fit import fits
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.pretraining.examples import HidingSettings, SentenceHider
from cocite.systems.mp_bert4cr.pretraining.network import HiddenSentences
from cocite.systems.mp_bert4cr.pretraining.task import (
    HierarchicalPretrainingTask,
)


def sentences(task: HierarchicalPretrainingTask, paper: int) -> list[NDArray[np.int32]]:
    """All of a paper's, in order."""
    texts = task.texts
    return [
        lists[i]
        for lists, indptr in ((texts.abstracts, texts.abstract_indptr), (texts.bodies, texts.body_indptr))
        for i in range(indptr[paper], indptr[paper + 1])
    ]


def test_documents_are_papers_of_the_training_period_in_pieces_that_fit(
    task: HierarchicalPretrainingTask, corpus: Corpus
) -> None:
    documents = task.documents
    assert corpus.years[documents.papers].max() <= 2015 < corpus.years[task.dev.papers].min()
    assert 2 <= documents.counts.min() <= documents.counts.max() <= 8
    lengths = task.lengths(0)
    several = int(np.bincount(documents.papers).argmax())
    found = np.flatnonzero(documents.papers == several)
    assert len(found) > 1
    whole = sentences(task, several)
    assert documents.counts[found].sum() == len(whole)
    assert lengths[found].sum() == sum(map(len, whole))


def test_what_is_hidden_is_told_and_the_rest_stays(task: HierarchicalPretrainingTask) -> None:
    examples = np.arange(len(task.documents))
    batch = task.collate(examples, 0)
    documents, mask = batch.documents, task.texts.tokenizer.mask_token_id
    bounds, hidden = documents.documents.numpy(), set(batch.hidden.tolist())
    answers = {
        number: batch.answers[start:end].tolist()
        for number, (start, end) in zip(
            batch.hidden.tolist(), batch.bounds.unfold(0, 2, 1).tolist(), strict=True
        )
    }
    forms = {"masked": 0, "kept": 0, "replaced": 0}
    for i in examples.tolist():
        first = int(task.documents.first[i])
        own = sentences(task, int(task.documents.papers[i]))[first : first + int(task.documents.counts[i])]
        assert hidden & set(range(bounds[i], bounds[i + 1]))
        for number, sentence in zip(range(bounds[i], bounds[i + 1]), own, strict=True):
            seen = documents.ids[documents.sentences[number] : documents.sentences[number + 1]].tolist()
            if number not in hidden:
                assert seen == sentence.tolist()
                continue
            assert answers[number] == sentence.tolist()
            if seen == sentence.tolist():
                forms["kept"] += 1
            elif seen == [mask] * (len(sentence) - 1) + [int(sentence[-1])]:
                forms["masked"] += 1
            else:
                forms["replaced"] += 1
    total = sum(forms.values())
    assert 0.12 < total / len(documents.lengths) < 0.27  # at least one of each document
    assert forms["masked"] / total == pytest.approx(0.8, abs=0.08)
    assert forms["kept"] > 0 < forms["replaced"]


def hidden_often(
    task: HierarchicalPretrainingTask, number: int, settings: HidingSettings
) -> tuple[HiddenSentences, NDArray[np.int64]]:
    """A document, hidden 20,000 times, and its sentence count for each."""
    documents = task.documents.take(np.full(20_000, number))
    hider = SentenceHider(settings, task.texts, task.documents)
    return hider.hide(documents, Draws(0, 0, np.arange(20_000))), documents.counts


def shown_sentences(batch: HiddenSentences) -> list[tuple[int, ...]]:
    """What stands in the place of each hidden sentence."""
    bounds, ids = batch.documents.sentences.tolist(), batch.documents.ids.tolist()
    return [tuple(ids[bounds[i] : bounds[i + 1]]) for i in batch.hidden.tolist()]


def told_sentences(batch: HiddenSentences) -> list[tuple[int, ...]]:
    """The hidden sentences."""
    bounds, answers = batch.bounds.tolist(), batch.answers.tolist()
    return [tuple(answers[start:end]) for start, end in pairwise(bounds)]


def test_each_sentence_is_hidden_alone_with_its_share_and_one_where_none_was(
    task: HierarchicalPretrainingTask,
) -> None:
    """Every set of a document's hidden sentences, by its probability."""
    number = int(np.flatnonzero(task.documents.counts == 4)[0])
    batch, counts = hidden_often(task, number, HidingSettings(share=0.3))
    owner = np.repeat(np.arange(len(counts)), counts)[batch.hidden.numpy()]
    position = batch.hidden.numpy() % 4
    sets = np.bincount(owner, 2.0**position).astype(np.int32)
    masses = np.zeros(16)
    for chosen in range(1, 16):
        size = chosen.bit_count()
        masses[chosen] = 0.3**size * 0.7 ** (4 - size) + (0.7**4 / 4 if size == 1 else 0)
    assert fits(sets, masses)


def test_hidden_sentences_take_the_three_forms_by_their_shares(task: HierarchicalPretrainingTask) -> None:
    batch, _ = hidden_often(task, 0, HidingSettings(masked=0.6, replaced=0.3))
    shown, own = shown_sentences(batch), told_sentences(batch)
    mask = task.texts.tokenizer.mask_token_id
    form = [
        0 if seen[:-1] == (mask,) * (len(seen) - 1) else 1 if seen == told else 2
        for seen, told in zip(shown, own, strict=True)
    ]
    assert fits(np.array(form, np.int32), np.array([0.6, 0.1, 0.3]))


def test_a_replaced_sentence_is_of_a_document_that_is_drawn_evenly(task: HierarchicalPretrainingTask) -> None:
    batch, _ = hidden_often(task, 0, HidingSettings(masked=0.0, replaced=1.0))
    masses: dict[tuple[int, ...], float] = {}
    for i in range(len(task.documents)):
        first, count = int(task.documents.first[i]), int(task.documents.counts[i])
        for sentence in sentences(task, int(task.documents.papers[i]))[first : first + count]:
            key = tuple(sentence.tolist())
            masses[key] = masses.get(key, 0.0) + 1 / len(task.documents) / count
    order = {key: place for place, key in enumerate(masses)}
    assert fits(
        np.array([order[key] for key in shown_sentences(batch)], np.int32), np.array([*masses.values()])
    )


def test_what_is_hidden_hangs_on_seed_epoch_and_example_alone(task: HierarchicalPretrainingTask) -> None:
    together, alone = task.collate(np.array([4, 9, 2]), 3), task.collate(np.array([9]), 3)
    start, end = together.documents.documents[1:3].tolist()
    tokens = together.documents.sentences[start : end + 1]
    assert torch.equal(together.documents.ids[tokens[0] : tokens[-1]], alone.documents.ids)
    mine = (together.hidden >= start) & (together.hidden < end)
    assert torch.equal(together.hidden[mine] - start, alone.hidden)
    other = task.hider.hide(task.documents.take(np.array([9])), Draws(1, 3, np.array([9])))
    assert not (
        torch.equal(other.hidden, alone.hidden) and torch.equal(other.documents.ids, alone.documents.ids)
    )

"""Documents with hidden sentences: as fine-tuning reads them, a function of the example alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from cocite.corpus.store import Corpus
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext, DynamicContextSettings
from cocite.systems.mp_bert4cr.pretraining.vector_examples import VectorExamples
from cocite.systems.mp_bert4cr.sentence_texts import load_from_model_folder


@pytest.fixture(scope="module")
def examples(corpus: Corpus, folder: Path) -> VectorExamples:
    texts = load_from_model_folder(folder, corpus)
    context = DynamicContext(DynamicContextSettings(earlier=3, abstract=4, body=2), texts)
    return VectorExamples(context, np.arange(50), np.arange(80), share=0.3, seed=1)


def test_each_document_hides_a_sentence_or_more_and_about_the_share(examples: VectorExamples) -> None:
    batch = examples.batch(np.arange(len(examples)), 0)
    assert len(batch.documents) == len(examples) == 130
    often = torch.bincount(batch.owners, minlength=130)
    assert bool((often >= 1).all())
    lengths = batch.documents.document_lengths
    expected = float((0.3 * lengths + (1 - 0.3) ** lengths).sum())  # a share, and one where that hides none
    assert abs(len(batch.hidden) - expected) < 0.15 * expected


def test_what_is_hidden_is_a_function_of_the_example(examples: VectorExamples) -> None:
    whole, part = examples.batch(np.arange(130), 3), examples.batch(np.array([7, 60]), 3)
    for number, example in enumerate((7, 60)):
        found = []
        for batch, at in ((whole, example), (part, number)):
            first = batch.documents.documents[at]
            found.append((batch.hidden[batch.owners == at] - first).tolist())
        assert found[0] == found[1]
    other = examples.batch(np.arange(130), 4)
    assert whole.hidden.tolist() != other.hidden.tolist()


def test_lengths_are_of_papers_and_contexts(examples: VectorExamples) -> None:
    assert examples.lengths().shape == (130,)
    assert examples.lengths().min() > 0

"""Papers and queries as documents."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContextSettings
from cocite.systems.mp_bert4cr.encoder_inputs import EncoderInputs, draw_sentences
from cocite.text.queries import context_queries
from cocite.text.sentence_texts import SentenceReader
from cocite.text.wordpiece import train_wordpiece

CONTEXTS = DynamicContextSettings(earlier=3, abstract=3, body=2)


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(80, seed=4, context_rate=2.0, sentences=True)


@pytest.fixture(scope="module")
def inputs(corpus: Corpus) -> EncoderInputs:
    texts = corpus.papers.take("abstract", np.arange(len(corpus)))
    reader = SentenceReader(train_wordpiece(lambda: texts, 400), 24)
    return EncoderInputs(reader, CONTEXTS, title=True, sentences=12)


def test_sentences_after_the_gap_are_not_read(corpus: Corpus, inputs: EncoderInputs) -> None:
    queries = context_queries(corpus, np.arange(40))
    for query in queries:
        documents = inputs.gaps([query], corpus)
        start, end = corpus.sentence_indptr[query.paper : query.paper + 2]
        positions = corpus.sentences.column("position")[start:end]
        texts = corpus.sentences.take("text", np.arange(start, end))
        after = [text for text, at in zip(texts, positions, strict=True) if at > query.sentence + 1]
        seen = [documents.ids[a:b].tolist() for a, b in documents.sentences.unfold(0, 2, 1).tolist()]
        hidden = {tuple(inputs.reader.bodies([[text]])[0][0].tolist()) for text in after}
        assert len(seen) <= 6
        assert not hidden & {tuple(sentence) for sentence in seen}


def test_sentences_are_drawn_evenly_and_once() -> None:
    counts = np.array([0, 2, 9] * 200)
    draws = Draws(0, 0, np.arange(600))
    owner, position = draw_sentences(counts, 3, draws)
    count = np.bincount(owner, minlength=600)
    assert count[:3].tolist() == [0, 2, 3]
    assert len(set(zip(owner.tolist(), position.tolist(), strict=True))) == len(owner)
    assert (np.diff(owner * 10 + position) > 0).all()
    shares = np.bincount(position[counts[owner] == 9], minlength=9) / 600
    assert shares == pytest.approx(np.full(9, 1 / 9), abs=0.03)
    assert len(draw_sentences(counts, 0, draws)[0]) == 0

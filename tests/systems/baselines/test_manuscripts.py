"""The sentences of a manuscript that baselines read are those that MP-BERT4CR reads."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.store import Corpus
from cocite.protocols import Query
from cocite.systems.baselines.manuscripts import Manuscripts, ManuscriptSettings
from cocite.systems.baselines.texts import CitingTexts
from cocite.systems.mp_bert4cr.encoder_inputs import EncoderInputs
from cocite.text.paragraphs import SPECIAL
from cocite.text.queries import context_queries
from cocite.text.sentence_texts import SentenceReader
from cocite.text.wordpiece import train_wordpiece

SETTINGS = ManuscriptSettings.parse(
    {"contexts": {"earlier": 2, "around": 1, "manuscript_abstract": 2, "near": 3}, "title": True}
)


@pytest.fixture(scope="module")
def queries(citing_corpus: Corpus) -> list[Query]:
    return context_queries(citing_corpus, np.arange(30))


def test_they_are_the_sentences_that_the_encoder_reads(citing_corpus: Corpus, queries: list[Query]) -> None:
    abstracts = citing_corpus.papers.take("abstract", np.arange(50))
    reader = SentenceReader(train_wordpiece(lambda: abstracts, 400), 1000)
    inputs = EncoderInputs(reader, SETTINGS.contexts, title=True, sentences=40)
    read = inputs.gaps(queries, citing_corpus)
    groups = Manuscripts(citing_corpus, SETTINGS).sentences(queries)
    tokens = reader.tokens([sentence for group in groups for sentence in group])
    assert tokens.ids.size > 100
    assert np.concatenate([tokens[i] for i in range(len(tokens))]).tolist() == read.ids.tolist()
    assert [len(group) for group in groups] == np.diff(read.documents.numpy()).tolist()


def test_no_sentence_after_the_gap_is_read(citing_corpus: Corpus, queries: list[Query]) -> None:
    checked = 0
    for query, group in zip(queries, Manuscripts(citing_corpus, SETTINGS).sentences(queries), strict=True):
        start, end = citing_corpus.sentence_indptr[query.paper : query.paper + 2]
        positions = citing_corpus.sentences.column("position")[start:end]
        texts = citing_corpus.sentences.take("text", np.arange(start, end))
        after = {text for text, at in zip(texts, positions, strict=True) if at > query.sentence + 1}
        before = {text for text, at in zip(texts, positions, strict=True) if at <= query.sentence + 1}
        assert not (after - before) & set(group)
        checked += len(after)
    assert checked


def test_words_and_texts_are_of_the_same_sentences(
    citing_corpus: Corpus, texts: CitingTexts, queries: list[Query]
) -> None:
    manuscripts = Manuscripts(citing_corpus, SETTINGS)
    whole = Query("whole", title="Parsing", abstract="We parse.")
    asked = [queries[0], whole, queries[1]]
    words = manuscripts.words(texts.reader, asked)
    assert (words.tokens >= SPECIAL).all()
    assert words.lengths[1] == 0, "a query without a gap has no manuscript around it"
    assert min(words.lengths[0], words.lengths[2]) > 0
    alone = manuscripts.words(texts.reader, [queries[1]])
    assert words.tokens[words.indptr[2] :].tolist() == alone.tokens.tolist()
    first, second, _ = manuscripts.widened(asked)
    assert first.context == " ".join([queries[0].context, *manuscripts.sentences([queries[0]])[0]])
    assert second.context == whole.context == ""

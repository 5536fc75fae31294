"""Papers and contexts as numbered paragraphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.small_hatten import hatten_task

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.systems.hatten.examples import NO_CONTEXT, CorpusParagraphs
from cocite.systems.hatten.network import HattenModelSettings
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.text.paragraphs import Paragraphs

CONTEXTS = np.array([3, 0, 11])


@pytest.fixture(scope="module")
def reader(history: History) -> ParagraphReader:
    return ParagraphReader.build(history, ParagraphSettings(vocabulary_size=500), bodies=False)


@pytest.fixture(scope="module")
def texts(corpus: Corpus, reader: ParagraphReader) -> CorpusParagraphs:
    paragraphs = Paragraphs.joined([*reader.papers(corpus), reader.contexts(corpus, CONTEXTS)])
    return CorpusParagraphs(paragraphs, len(corpus), HattenModelSettings())


def words_of(texts: CorpusParagraphs, part: int) -> list[int]:
    start, end = texts.paragraphs.indptr[part : part + 2]
    return texts.paragraphs.tokens[start:end].tolist()


def test_parts_name_the_title_abstract_and_context_of_a_document(
    corpus: Corpus, reader: ParagraphReader, texts: CorpusParagraphs
) -> None:
    titles, abstracts = reader.papers(corpus)
    contexts = reader.contexts(corpus, CONTEXTS)
    parts = texts.parts_of_queries(np.array([8, 2]), np.array([1, NO_CONTEXT]))
    assert words_of(texts, parts[0, 0]) == titles.take(np.array([8])).tokens.tolist()
    assert words_of(texts, parts[0, 1]) == abstracts.take(np.array([8])).tokens.tolist()
    assert words_of(texts, parts[0, 2]) == contexts.take(np.array([1])).tokens.tolist()
    assert parts[1].tolist() == [*texts.parts_of_papers(np.array([2]))[0, :2].tolist(), -1]


def test_lengths_and_distinct_words_are_those_of_all_parts(texts: CorpusParagraphs) -> None:
    parts = texts.parts_of_queries(np.array([8, 2, 5]), np.array([0, NO_CONTEXT, 2]))
    lengths, words = texts.lengths(parts), texts.words(parts)
    for i, row in enumerate(parts.tolist()):
        tokens = [word for part in row if part >= 0 for word in words_of(texts, part)]
        assert lengths[i] == len(tokens)
        assert words[i].tolist() == sorted(set(tokens))


def test_documents_are_the_queries_and_then_the_papers(texts: CorpusParagraphs) -> None:
    queries = texts.parts_of_queries(np.array([8, 2]), np.array([0, 1]))
    documents = texts.documents(queries, texts.parts_of_papers(np.array([4])))
    assert documents.is_query.tolist() == [True, True, False]
    assert (documents.parts[:, 2] > 0).tolist() == [True, True, False]


def test_a_batch_holds_the_documents_of_its_sample(corpus: Corpus, tmp_path: Path) -> None:
    task = hatten_task(corpus, tmp_path, objective={"context_dropout": 0.5, "bag_epochs": 1})
    batch = task.collate(np.arange(6), 0)
    queries = len(batch.sample.contexts)
    assert batch.documents.is_query.sum() == queries
    assert len(batch.documents.parts) == queries + len(batch.sample.papers)
    assert ((batch.documents.parts[:queries, 2] > 0).numpy() == batch.sample.read).all()
    assert 0 < batch.sample.read.sum() < queries
    assert (batch.attend, task.collate(np.arange(6), 1).attend) == (False, True)

"""What the word-vector baselines read of contexts."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.errors import InputError
from cocite.systems.baselines.texts import (
    CitingTexts,
    line_file,
    mean_vectors,
    nearest_words,
    only_words,
    with_citations,
)
from cocite.text.paragraph_reader import ParagraphSettings
from cocite.text.paragraphs import GAP, SPECIAL, Paragraphs


def lists(paragraphs: Paragraphs) -> list[list[int]]:
    return [part.tolist() for part in np.split(paragraphs.tokens, paragraphs.indptr[1:-1])]


def of(*tokens: list[int]) -> Paragraphs:
    return Paragraphs(
        np.cumsum([0, *map(len, tokens)]), np.array([t for part in tokens for t in part], np.int32)
    )


def test_citations_replace_the_gap(texts: CitingTexts) -> None:
    read = lists(with_citations(texts))
    for i, (tokens, context) in enumerate(zip(read, lists(texts.contexts), strict=True)):
        expected: list[int] = []
        for token in context:
            if token == GAP:
                expected += [texts.reader.size + row for row in texts.cited[i].tolist()]
            elif token >= SPECIAL:
                expected.append(token)
        assert tokens == expected
    assert any(token >= texts.reader.size for tokens in read for token in tokens)


def test_only_the_history_is_read(texts: CitingTexts) -> None:
    assert texts.history.citing[texts.citing].all()
    assert not (texts.cited.contains(np.arange(len(texts.cited)), texts.citing)).any()
    later = texts.history.corpus.papers.table.column("title")[-1].as_py().lower().split()
    known = set(texts.reader.vocabulary.types)
    early = {
        word
        for title, abstract in zip(
            texts.history.corpus.papers.take("title", np.flatnonzero(texts.history.citing)),
            texts.history.corpus.papers.take("abstract", np.flatnonzero(texts.history.citing)),
            strict=True,
        )
        for word in f"{title} {abstract}".lower().split()
    }
    contexts = texts.history.corpus.contexts.take("text", texts.history.contexts)
    early |= {word for text in contexts for word in text.lower().split()}
    assert set(later) & known <= early


def test_words_alone_and_those_in_the_middle() -> None:
    paragraphs = of([GAP, 4, 0, 5], [], [0], [4, 5, 6, 7, 8])
    assert lists(only_words(paragraphs)) == [[4, 5], [], [], [4, 5, 6, 7, 8]]
    assert lists(nearest_words(paragraphs, 3)) == [[GAP, 4, 0], [], [0], [5, 6, 7]]


def test_means_are_zero_where_there_is_no_word() -> None:
    words = np.arange(20, dtype=np.float32).reshape(10, 2)
    means = mean_vectors(of([4, 6], [], [9]), words)
    np.testing.assert_allclose(means, [[10, 11], [0, 0], [18, 19]])


def test_a_line_for_each_paragraph() -> None:
    with line_file(of([4, 5], [], [6])) as path:
        assert path.read_text() == "4 5\n\n6\n"
    assert not path.exists()


def test_without_contexts_there_is_nothing_to_learn(texts: CitingTexts) -> None:
    corpus = texts.history.corpus
    with pytest.raises(InputError, match="no paper of the training period has a citation context"):
        CitingTexts.of(History(corpus, np.zeros(len(corpus), bool)), ParagraphSettings())

"""Counts of words over the texts of a history: equal to a counter of sets, and nothing of later papers."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.text.word_counts import body_sentences, count_words


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(250, seed=5, split=(2, 1), context_rate=4.0, sentences=True)


@pytest.mark.parametrize("bodies", [False, True])
@pytest.mark.parametrize("quantile", [0.5, 1.0])
def test_counts_equal_a_counter_of_sets(corpus: Corpus, bodies: bool, quantile: float) -> None:
    history = History.until(corpus, int(np.quantile(corpus.years, quantile)))
    papers = np.flatnonzero(history.citing)
    titles, abstracts = (corpus.papers.take(name, papers) for name in ("title", "abstract"))
    texts = [f"{title} {abstract}" for title, abstract in zip(titles, abstracts, strict=True)]
    texts += corpus.contexts.take("text", history.contexts)
    if bodies:
        owner = np.repeat(np.arange(len(corpus)), np.diff(corpus.sentence_indptr))
        texts += corpus.sentences.take("text", np.flatnonzero(history.citing[owner]))
    expected = Counter(word for text in texts for word in set(words_of(text)))
    vocabulary = count_words(history, bodies=bodies).vocabulary()
    assert dict(zip(vocabulary.types, vocabulary.counts.tolist(), strict=True)) == expected


def words_of(text: str) -> list[str]:
    """The words of synthetic texts, whose marks are the only capitals."""
    text = re.sub(r"TARGETCIT|OTHERCIT|\[\[CIT:\d+\]\]", " ", text)
    text = "".join(character if character.isalnum() else " " for character in text.lower())
    return text.split()


def test_a_history_without_papers_has_no_body(corpus: Corpus) -> None:
    assert list(body_sentences(History(corpus, np.zeros(len(corpus), bool)))) == []

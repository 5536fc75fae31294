"""Authors by number: those of the history, in the order of how many papers they have."""

from __future__ import annotations

import numpy as np

from cocite.corpus.history import History
from cocite.systems.baselines.authors import UNKNOWN_AUTHOR, AuthorNumbers
from cocite.systems.baselines.filters import PADDING
from cocite.systems.baselines.texts import CitingTexts


def test_authors_are_those_of_the_history(texts: CitingTexts) -> None:
    corpus = texts.history.corpus
    history = History(corpus, np.arange(len(corpus)) < 20)
    known = AuthorNumbers(history, most=20_000, first=5).numbers
    first, every = (
        {name for names in corpus.papers.take("authors", np.arange(count)) for name in names}
        for count in (20, len(corpus))
    )
    assert set(known) == {" ".join(name.lower().split()) for name in first}
    assert len(first) < len(every)
    assert sorted(known.values()) == list(range(1, len(known) + 1))


def test_the_most_frequent_are_told_apart_and_the_first_are_read(texts: CitingTexts) -> None:
    authors = AuthorNumbers(texts.history, most=3, first=2)
    assert authors.size == 4
    first = next(iter(authors.numbers))
    assert authors.read([(first.upper(), "No Such Author", first), ()]).tolist() == [
        [1, UNKNOWN_AUTHOR],
        [UNKNOWN_AUTHOR, PADDING],
    ]
    papers = [
        set(names)
        for names in texts.history.corpus.papers.take("authors", np.flatnonzero(texts.history.citing))
    ]
    counts = [sum(name in (one.lower() for one in names) for names in papers) for name in authors.numbers]
    assert counts == sorted(counts, reverse=True)

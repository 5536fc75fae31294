from __future__ import annotations

import numpy as np
from helpers.citeomatic import periods_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.nnrank.citations_before import CitationsBefore


def test_citations_before_a_year(training_corpus: Corpus) -> None:
    corpus = training_corpus
    history = periods_of(corpus).history
    before = CitationsBefore(history)
    rng = np.random.default_rng(0)
    query, paper = rng.integers(0, len(corpus), (2, 200)).astype(np.int32)
    expected = [
        sum(corpus.years[c] < corpus.years[q] for c in history.cited_by[p])
        for q, p in zip(query, paper, strict=True)
    ]
    assert before(query, paper).tolist() == expected
    assert sum(expected) > 0


def test_an_undated_query_knows_all_but_its_own(training_corpus: Corpus) -> None:
    history = History.all(training_corpus)
    before = CitationsBefore(history)
    before._years = np.zeros_like(before._years)
    owners, cited = history.cites.pairs()
    some = np.arange(0, len(owners), 50)
    counts = before(owners[some], cited[some])
    assert counts.tolist() == (history.in_citations[cited[some]] - 1).tolist()

"""Queries of a corpus: a manuscript of each paper, a gap of each context."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.text import queries
from cocite.text.queries import CorpusQueries, context_queries, manuscript_queries


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(250, seed=5, split=(2, 1), context_rate=4.0, sentences=True)


def test_a_manuscript_has_all_fields_of_its_paper_and_no_context(corpus: Corpus) -> None:
    rows = np.array([9, 2, 9])
    for row, query in zip(rows.tolist(), manuscript_queries(corpus, rows), strict=True):
        paper = corpus.paper(row)
        assert not query.is_local
        assert (query.id, query.paper) == (paper.id, row)
        assert (query.title, query.abstract, query.year) == (paper.title, paper.abstract, paper.year or None)
        assert (query.authors, query.venue, query.keyphrases) == (
            paper.authors,
            paper.venue,
            paper.keyphrases,
        )
    assert manuscript_queries(corpus, rows[:0]) == []


def test_a_gap_has_its_own_text_and_the_citing_papers_fields(corpus: Corpus) -> None:
    positions = np.array([7, 0, 30])
    queries = context_queries(corpus, positions)
    ids, texts = corpus.contexts.take("id", positions), corpus.contexts.take("text", positions)
    assert [query.id for query in queries] == ids
    assert [query.context for query in queries] == texts
    assert [query.paper for query in queries] == corpus.context_citing[positions].tolist()
    assert [query.sentence for query in queries] == corpus.contexts.column("sentence")[positions].tolist()
    manuscripts = manuscript_queries(corpus, corpus.context_citing[positions])
    for query, manuscript in zip(queries, manuscripts, strict=True):
        assert (query.title, query.abstract, query.year) == (
            manuscript.title,
            manuscript.abstract,
            manuscript.year,
        )


def test_queries_that_are_made_when_asked_are_those_that_are_made_at_once(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "BLOCK", 7)
    positions = np.arange(0, len(corpus.contexts), 3)
    whole = context_queries(corpus, positions)
    lazy = CorpusQueries(context_queries, corpus, positions)
    assert list(lazy) == whole
    assert len(lazy) == len(whole)
    assert lazy[5] == whole[5]
    assert lazy[-1] == whole[-1]
    assert lazy[3:9] == whole[3:9]
    assert list(lazy.take(np.array([8, 2, 8]))) == [whole[8], whole[2], whole[8]]
    with pytest.raises(IndexError, match="out of bounds"):
        lazy[len(whole)]

"""The BM25 retriever: against the index that it searches."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.index.index import Index
from cocite.retrieval.query_forms import QueryForm, query_texts


@pytest.fixture(scope="module")
def index(corpus: Corpus) -> Index:
    return Index.build(corpus, History.all(corpus), encoders=[HashEncoder()])


def test_an_unknown_field_is_refused(index: Index) -> None:
    with pytest.raises(InputError, match=r"'titel'.*'title'"):
        Bm25Retriever(index, "title", "titel")


@pytest.mark.parametrize("field", ["text", "title", "abstract"])
def test_scores_are_those_of_the_field_but_for_forbidden_papers(
    corpus: Corpus, index: Index, field: str
) -> None:
    retriever = Bm25Retriever(index, QueryForm.CONTEXT_TITLE, field)
    queries = queries_of(corpus, range(100, 110))
    expected = index.papers[field].scores(query_texts(queries, QueryForm.CONTEXT_TITLE))
    rows = np.tile(np.arange(-1, 20, dtype=np.int32), (10, 1))
    np.testing.assert_allclose(retriever.at(queries, rows)[:, 1:], expected[:, :20], rtol=1e-5)
    expected[np.arange(10), [query.paper for query in queries]] = -np.inf
    np.testing.assert_array_equal(retriever.scores(queries), expected)
    ranking = retriever.search(queries, len(corpus))
    np.testing.assert_array_equal((ranking.rows != NO_ROW).sum(axis=1), (expected > 0).sum(axis=1))


def test_a_query_that_shares_no_word_gets_nothing(index: Index) -> None:
    ranking = Bm25Retriever(index, "title").search([Query("q", title="zebra quokka")], 5)
    assert (ranking.rows == NO_ROW).all()
    assert np.isneginf(ranking.scores).all()

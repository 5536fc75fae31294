"""What an index knows of its papers, whatever searches them."""

from __future__ import annotations

import numpy as np
from helpers.topic_corpus import queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import Query
from cocite.retrieval.index.collection import Collection, last_years


def test_known_contexts_are_in_order_of_their_paper_with_what_they_cite(corpus: Corpus) -> None:
    history = History.until(corpus, int(np.median(corpus.years)))
    collection = Collection(corpus, history, np.ones(len(corpus), bool))
    assert len(collection) == len(corpus)
    assert (np.diff(collection.context_papers) >= 0).all()
    for document, position in enumerate(history.contexts[:20].tolist()):
        assert collection.context_papers[document] == corpus.context_citing[position]
        np.testing.assert_array_equal(collection.cited_by_context[document], corpus.context_cited[position])


def test_what_a_query_may_not_retrieve_is_forbidden(corpus: Corpus) -> None:
    alive = np.arange(len(corpus)) != 3
    collection = Collection(corpus, History.all(corpus), alive)
    [query] = queries_of(corpus, [100])
    late = Query("late", title="x", candidates_until=2004, exclude=(1,))
    scores = collection.forbid(np.zeros((2, len(corpus)), np.float32), [query, late])
    assert np.isinf(scores[:, 3]).all()
    assert np.flatnonzero(np.isinf(scores[0])).tolist() == sorted({3, query.paper})
    expected = (corpus.years > 2004) | ~alive | (np.arange(len(corpus)) == 1)
    np.testing.assert_array_equal(np.isinf(scores[1]), expected)


def test_years_are_given_where_a_query_has_a_limit() -> None:
    assert last_years([Query("a"), Query("b")]) is None
    limits = last_years([Query("a", candidates_until=1999), Query("b")])
    assert limits is not None
    assert limits[0] == 1999
    assert limits[1] > 9999


def test_tables_of_names_are_those_given_or_made_of_the_corpus(corpus: Corpus) -> None:
    made = Collection(corpus, History.all(corpus), np.ones(len(corpus), bool)).name_tables
    again = Collection(corpus, History.all(corpus), np.ones(len(corpus), bool), names=made)
    assert again.name_tables is made
    assert made.authors.papers[made.authors.find(["a0"])[0]].tolist() == list(range(0, 80, 5))

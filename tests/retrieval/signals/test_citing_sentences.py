"""The citing-sentence retriever: who votes, for what, and the evidence."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.citing_sentences import CitingSentences, citing_sentences


@pytest.fixture(scope="module")
def index(corpus: Corpus) -> Index:
    return Index.build(corpus, History.all(corpus), encoders=[HashEncoder()])


def test_a_papers_own_contexts_never_vote(corpus: Corpus, index: Index) -> None:
    queries = queries_of(corpus, range(0, len(corpus.contexts), 9))
    sentences = CitingSentences(index, sentences=len(corpus.contexts))
    voters = sentences.nearest(queries)
    for query, rows in zip(queries, voters.rows, strict=True):
        assert query.paper not in index.context_papers[rows[rows != NO_ROW]]
    # For a query of the same words from elsewhere they do.
    stranger = Query("s", context=queries[3].context)
    best = sentences.nearest([stranger]).rows[0, 0]
    assert index.context_papers[best] == queries[3].paper


def test_evidence_is_sentences_that_cite_the_paper(corpus: Corpus, index: Index) -> None:
    queries = queries_of(corpus, range(200, 220))
    sentences = CitingSentences(index)
    nearest = sentences.nearest(queries)
    best = sentences.count(nearest).ranking(1).rows[:, 0]
    for i in range(len(queries)):
        evidence = citing_sentences(index, nearest, i, int(best[i]))
        assert 0 < len(evidence) <= 3
        for citing, text in evidence:
            assert best[i] in corpus.cites[citing]
            assert "TARGETCIT" in text
    assert citing_sentences(index, nearest, 0, 79) == (), "nobody cites the last paper"


def test_later_sentences_do_not_vote(corpus: Corpus) -> None:
    index = Index.build(corpus, History.until(corpus, 2004))
    rows = CitingSentences(index).nearest(queries_of(corpus, range(200, 210))).rows
    assert corpus.years[index.context_papers[rows[rows != NO_ROW]]].max() <= 2004


def test_scores_are_sums_of_weights_of_the_nearest_sentences(corpus: Corpus, index: Index) -> None:
    queries = queries_of(corpus, range(200, 205))
    sentences = CitingSentences(index, sentences=7)
    nearest, scores = sentences.nearest(queries), sentences.scores(queries)
    expected = np.zeros((5, len(corpus)))
    for i, (rows, weights) in enumerate(zip(nearest.rows, nearest.scores, strict=True)):
        for row, weight in zip(rows, weights, strict=True):
            if row != NO_ROW:
                expected[i, index.cited_by_context[int(row)]] += weight
        expected[i, queries[i].paper] = -np.inf
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    assert sentences.nearest([]).rows.shape == (0, 7)

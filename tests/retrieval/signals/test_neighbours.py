"""Citation expansion: the neighbours' votes, their evidence, and the candidates they add."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Ranking
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.neighbours import Neighbours, citing_neighbours, expand
from cocite.retrieval.vector_retriever import VectorRetriever


@pytest.fixture(scope="module")
def index(corpus: Corpus) -> Index:
    return Index.build(corpus, History.all(corpus), encoders=[HashEncoder()])


def test_evidence_is_the_neighbours_that_cite_the_paper_nearest_first(corpus: Corpus, index: Index) -> None:
    queries = queries_of(corpus, range(200, 220))
    neighbours = Neighbours(index)
    nearest = neighbours.nearest(queries)
    best = neighbours.count(nearest).ranking(1).rows[:, 0]
    for i in range(len(queries)):
        rows = citing_neighbours(index, nearest, i, int(best[i]))
        assert 0 < len(rows) <= 5
        assert all(best[i] in corpus.cites[row] for row in rows)
        places = [nearest.rows[i].tolist().index(row) for row in rows]
        assert places == sorted(places)


def test_only_papers_that_the_history_cites_are_retrieved(corpus: Corpus) -> None:
    history = History.until(corpus, 2004)
    rows = Neighbours(Index.build(corpus, history)).search(queries_of(corpus, range(200, 210)), 80).rows
    assert set(rows[rows != NO_ROW].tolist()) <= set(history.cites.indices.tolist())


def test_scores_are_sums_of_weights_of_the_neighbours(corpus: Corpus, index: Index) -> None:
    queries = queries_of(corpus, range(200, 205))
    by_vectors = Neighbours(index, neighbours=4, by=VectorRetriever(index, HashEncoder()))
    for neighbours in (Neighbours(index, neighbours=6), by_vectors):
        nearest = neighbours.nearest(queries)
        assert (nearest.scores[:, 0] == 1).all()
        expected = np.zeros((5, len(corpus)))
        for i, (rows, weights) in enumerate(zip(nearest.rows, nearest.scores, strict=True)):
            for row, weight in zip(rows, weights, strict=True):
                if row != NO_ROW:
                    expected[i, corpus.cites[int(row)]] += weight
            expected[i, queries[i].paper] = -np.inf
        np.testing.assert_allclose(neighbours.scores(queries), expected, rtol=1e-6)


def test_expansion_is_the_neighbours_and_what_they_cite(corpus: Corpus) -> None:
    neighbours = Ranking(np.array([[70, 71], [3, NO_ROW]], np.int32), np.zeros((2, 2), np.float32))
    result = expand(neighbours, corpus.cites)
    assert set(result[0].tolist()) == {70, 71, *corpus.cites[70].tolist(), *corpus.cites[71].tolist()}
    assert set(result[1].tolist()) == {3, *corpus.cites[3].tolist()}

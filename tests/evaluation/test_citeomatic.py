"""Citeomatic's two phases: candidates, their order, and what is never among them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, make_records, queries_of

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.evaluation.citeomatic import CiteomaticRanker
from cocite.protocols import NO_ROW, Ranking
from cocite.retrieval.index.index import Index
from cocite.retrieval.vector_retriever import VectorRetriever


@pytest.fixture(scope="module")
def index(corpus: Corpus) -> Index:
    return Index.build(corpus, History.until(corpus, 2007), encoders=[HashEncoder()])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """80 papers of 2000 to 2009."""
    return build(make_records(80), tmp_path_factory.mktemp("corpus") / "store")


def retrieved(ranking: Ranking) -> list[set[int]]:
    return [set(rows[rows != NO_ROW].tolist()) for rows in ranking.rows]


@pytest.mark.parametrize("expansion", [False, True])
def test_candidates_are_the_neighbours_and_what_they_cite_by_cosine(
    corpus: Corpus, index: Index, expansion: bool
) -> None:
    encoder = HashEncoder()
    queries = [dataclasses.replace(query, exclude=(1, 2)) for query in queries_of(corpus, range(200, 220))]
    nearest = VectorRetriever(index, encoder).search(queries, 6)
    ranking = CiteomaticRanker(index, encoder, neighbours=6, expansion=expansion).rank(queries, 300)
    cosines = encoder.encode_queries(queries) @ index.vectors["hash"].raw.T
    for i, (near, rows) in enumerate(zip(retrieved(nearest), retrieved(ranking), strict=True)):
        cited = {paper for row in near for paper in index.history.cites[row].tolist()} if expansion else set()
        assert rows == (near | cited) - {queries[i].paper, 1, 2}
        filled = ranking.rows[i] != NO_ROW
        np.testing.assert_allclose(ranking.scores[i, filled], cosines[i, ranking.rows[i, filled]], rtol=1e-5)
    assert (np.diff(np.where(ranking.rows == NO_ROW, -9, ranking.scores), axis=1) <= 0).all()
    assert (ranking.rows != NO_ROW).any(axis=0).all(), "no column of padding alone"


class ByRow:
    """Scores the earliest paper best."""

    name = "by-row"

    def score(self, queries, candidates):
        return -candidates.rows.astype(np.float32)


def test_a_reranker_orders_the_same_candidates(corpus: Corpus, index: Index) -> None:
    queries = queries_of(corpus, range(200, 205))
    ranker = CiteomaticRanker(index, HashEncoder(), ByRow(), neighbours=6)
    ranking = ranker.rank(queries, 300)
    assert retrieved(ranking) == retrieved(ranker.candidates(queries))
    for rows in ranking.rows:
        assert (np.diff(rows[rows != NO_ROW]) > 0).all()
    assert ranker.rank(queries, 3).depth == 3


def test_removed_and_later_papers_are_no_candidates(corpus: Corpus, index: Index) -> None:
    alive = np.ones(len(corpus), bool)
    alive[::3] = False
    query = dataclasses.replace(queries_of(corpus, [210])[0], candidates_until=2004)
    rows = retrieved(
        CiteomaticRanker(dataclasses.replace(index, alive=alive), HashEncoder()).rank([query], 300)
    )[0]
    assert rows
    assert all(alive[row] and corpus.years[row] <= 2004 for row in rows)

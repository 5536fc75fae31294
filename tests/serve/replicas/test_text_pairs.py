"""Texts to score in the reranker's chunks, together with candidates to order."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.served_texts import texts_folders

from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import Query
from cocite_serve.http.text_work import ScoreWork
from cocite_serve.replicas.pair_chunks import Order, PairChunks
from cocite_serve.replicas.text_pairs import Score, facts_of

QUERY = Query("q", context="parsing as in TARGETCIT")
TEXTS = ("trees of words", "machine translation", "vectors of words")


@pytest.fixture(scope="module")
def recommender(tmp_path_factory: pytest.TempPathFactory) -> Recommender:
    return Recommender.load(*texts_folders(tmp_path_factory.mktemp("pairs")))


def test_texts_are_read_beside_candidates_and_neither_changes_the_other(recommender: Recommender) -> None:
    chunks, options = PairChunks(recommender.second), Options(top_k=5, depth=20, rerank=6)
    order = Order(QUERY, recommender.first.retrieve([QUERY], options), options)
    score, alone = (Score(ScoreWork(QUERY, TEXTS)) for _ in range(2))
    assert (len(chunks.open(order)), len(chunks.open(score)), len(chunks.open(alone))) == (6, 3, 3)
    chunks.read([(score, 2), (order, 4)])
    chunks.read([(order, 2), (score, 1)])
    chunks.read([(alone, 3)])
    np.testing.assert_allclose(chunks.close(score, 3), chunks.close(alone, 3), atol=1e-5)
    found = chunks.close(order, 6).papers
    assert [paper.id for paper in found] == [paper.id for paper in recommender.recommend(QUERY, options)]


def test_the_facts_of_the_cross_encoder(recommender: Recommender) -> None:
    facts = facts_of(recommender.second)
    assert facts is not None
    assert (facts.kind, facts.max_tokens) == ("local", 48 + 64)
    assert facts.chunk_tokens >= 1024
    assert facts_of(SecondStage(recommender.index)) is None

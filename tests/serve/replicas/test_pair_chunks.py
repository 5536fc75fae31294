"""The reranker's chunks with a real, tiny cross-encoder over the starter corpus."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.served_cross_encoder import cross_encoder_folder

from cocite.corpus.starter import build_starter
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.stepwise_ranking import pair_reader
from cocite.protocols import Query
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.replicas.pair_chunks import Order, PairChunks, pairs_asked

OPTIONS = Options(top_k=10, depth=40, rerank=12)


@pytest.fixture(scope="module")
def recommender(tmp_path_factory: pytest.TempPathFactory) -> Recommender:
    folder: Path = tmp_path_factory.mktemp("chunks")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return Recommender.load(cross_encoder_folder(folder), folder / "index")


def order(recommender: Recommender, context: str) -> Order:
    query = Query(context, context=context)
    return Order(query, recommender.first.retrieve([query], OPTIONS), OPTIONS)


def test_chunks_rank_as_the_recommender_does(recommender: Recommender) -> None:
    chunks = PairChunks(recommender.second)
    orders = [order(recommender, text) for text in ("parsing as in [CIT]", "scored with BLEU [CIT]")]
    assert [len(chunks.open(each)) for each in orders] == [12, 12]
    chunks.read([(orders[0], 12), (orders[1], 5)])
    chunks.read([(orders[1], 7)])
    for each in orders:
        found = chunks.close(each, 12)
        assert (found.read, found.of) == (12, 12)
        expected = recommender.recommend(each.query, OPTIONS)
        assert [paper.id for paper in found.papers] == [paper.id for paper in expected]


def test_what_was_read_decides_where_not_all_was(recommender: Recommender) -> None:
    chunks, partial = PairChunks(recommender.second), order(recommender, "parsing as in [CIT]")
    chunks.open(partial)
    chunks.read([(partial, 3)])
    found = chunks.close(partial, 12)
    assert (found.read, found.of) == (3, 12)
    expected = recommender.recommend(partial.query, Options(top_k=10, depth=40, rerank=3))
    assert [paper.id for paper in found.papers] == [paper.id for paper in expected]


def test_what_a_padded_chunk_computes_is_observed(
    recommender: Recommender, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    chunks = PairChunks(recommender.second, seen.append)
    orders = [order(recommender, text) for text in ("parsing as in [CIT]", "scored with BLEU [CIT]")]
    first, second = (chunks.open(each) for each in orders)
    chunks.read([(orders[0], 5)])
    assert seen == [], "a trunk of BERT's family is packed"
    reader = pair_reader(recommender.second)
    assert reader is not None
    monkeypatch.setattr(reader.scorer, "packed", False)
    monkeypatch.setattr(reader.scorer, "padding", lambda lengths: float(lengths.sum()))
    chunks.read([(orders[0], 4), (orders[1], 12)])
    assert seen == [first[5:9].sum() + second.sum()]


def test_the_pace_is_measured_in_tokens(recommender: Recommender) -> None:
    chunks = PairChunks(recommender.second)
    pace, tokens = chunks.measure()
    assert pace.seconds(1000) > 0
    assert 8 < tokens <= 48 + 64
    assert chunks.chunk_tokens >= 1024


def test_pairs_are_asked_for_where_the_cross_encoder_reads_them(recommender: Recommender) -> None:
    kinds = PairChunks(recommender.second).kinds
    assert kinds == ("local",)
    assert pairs_asked(kinds, Query("q", context="as in [CIT]"), OPTIONS) == 12
    assert pairs_asked(kinds, Query("q", context="as in [CIT]"), Options(depth=5, rerank=12)) == 5
    assert pairs_asked(kinds, Query("q", title="Parsing"), OPTIONS) == 0

"""The second stage in steps ranks as in one go, whatever the chunks, and as with fewer to read where it ends early."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.noisy_cross_encoder import NoisyCrossEncoder
from helpers.pipeline_queries import queries_of
from helpers.tiny_bert import tiny_bert

from cocite.corpus.store import Corpus
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options, Recommendation
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.stepwise_ranking import StepwiseRanking, pair_reader, read_together
from cocite.protocols import Query
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.systems.cross_encoder.reranker import CrossEncoderReranker
from cocite.text.pair_tokenizer import PairSettings

OPTIONS = Options(top_k=30, depth=60, rerank=25)


@pytest.fixture(scope="module")
def stage(first: FirstStage, tmp_path_factory: pytest.TempPathFactory) -> SecondStage:
    torch.manual_seed(0)
    model = CrossEncoder.from_pretrained(
        tiny_bert(tmp_path_factory.mktemp("bert"), []), PairSettings(query_tokens=48, candidate_tokens=64)
    )
    scorer = PairScorer(model, precision="fp32", threads=1, device="cpu", tokens=300)
    return SecondStage(first.index, cross_encoder=CrossEncoderReranker(scorer, first.index.corpus))


@pytest.fixture(scope="module")
def queries(corpus: Corpus, later: list[int]) -> list[Query]:
    return queries_of(corpus, later[:3], context=True)


def opened(
    first: FirstStage, stage: SecondStage, query: Query, options: Options = OPTIONS
) -> StepwiseRanking:
    return StepwiseRanking(stage, query, first.retrieve([query], options), options)


def same(found: list[Recommendation], expected: list[Recommendation]) -> None:
    assert [paper.id for paper in found] == [paper.id for paper in expected]
    assert [paper.evidence for paper in found] == [paper.evidence for paper in expected]
    for paper, other in zip(found, expected, strict=True):
        # The final score is in standard deviations of nearly equal scores of a random model: it magnifies rounding.
        assert paper.stages == pytest.approx(other.stages, abs=2e-3)
        assert paper.score == pytest.approx(other.score, abs=2e-3)


def test_chunks_of_several_queries_rank_as_one_go_does(
    first: FirstStage, stage: SecondStage, queries: list[Query]
) -> None:
    rankings = [opened(first, stage, query) for query in queries]
    for counts in ((10, 3, 0), (1, 22, 12), (14, 0, 13)):
        parts = [(ranking, count) for ranking, count in zip(rankings, counts, strict=True) if count]
        read_together(stage, parts)
    for query, ranking in zip(queries, rankings, strict=True):
        assert ranking.read == 25
        [expected] = stage.rerank([query], first.retrieve([query], OPTIONS), OPTIONS)
        same(ranking.recommendations(), expected)


@pytest.mark.parametrize("read", [0, 1, 7])
def test_after_some_pairs_the_ranking_is_that_of_fewer_to_read(
    first: FirstStage, stage: SecondStage, queries: list[Query], read: int
) -> None:
    ranking = opened(first, stage, queries[0])
    if read:
        read_together(stage, [(ranking, read)])
    fewer = Options(top_k=30, depth=60, rerank=read)
    [expected] = stage.rerank(queries[:1], first.retrieve(queries[:1], fewer), fewer)
    same(ranking.recommendations(), expected)


def test_nothing_is_read_where_none_is_asked_for_or_of_another_kind(
    first: FirstStage, stage: SecondStage, queries: list[Query]
) -> None:
    assert opened(first, stage, queries[0], Options(depth=60, rerank=0)).pairs is None
    assert opened(first, stage, Query("q", title="no context")).pairs is None


def test_fewer_candidates_than_are_to_be_read(
    first: FirstStage, stage: SecondStage, queries: list[Query]
) -> None:
    options = Options(top_k=30, depth=60, rerank=25, exclude=tuple(range(5, len(first.index))))
    ranking = opened(first, stage, queries[0], options)
    assert ranking.pairs is not None
    count = len(ranking.pairs.lengths)
    assert 0 < count <= 5
    read_together(stage, [(ranking, count)])
    [expected] = stage.rerank(queries[:1], first.retrieve(queries[:1], options), options)
    same(ranking.recommendations(), expected)


def test_only_a_reader_of_pairs_is_read_in_chunks(first: FirstStage, corpus: Corpus) -> None:
    assert pair_reader(SecondStage(first.index)) is None
    with pytest.raises(TypeError, match="NoisyCrossEncoder cannot read the pairs of a query in chunks"):
        pair_reader(SecondStage(first.index, cross_encoder=NoisyCrossEncoder(corpus)))


def test_candidates_of_one_query_are_its_own(first: FirstStage, queries: list[Query]) -> None:
    block = first.retrieve(queries, OPTIONS)
    for position, query in enumerate(queries):
        alone, part = first.retrieve([query], OPTIONS), block.of([position])
        np.testing.assert_array_equal(part.ranking.rows, alone.ranking.rows)
        np.testing.assert_allclose(part.ranking.scores, alone.ranking.scores, atol=1e-5)
        assert part.signals.keys() == alone.signals.keys()

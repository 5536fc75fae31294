"""The candidates of a fusion's training: what both stages score, or the best that a cross-encoder reads."""

from __future__ import annotations

import numpy as np
from helpers.noisy_cross_encoder import NoisyCrossEncoder
from helpers.pipeline_queries import queries_of

from cocite.corpus.store import Corpus
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_candidates import StagedCandidates
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage


def test_without_reranking_they_are_the_first_stages_with_all_signals(
    corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    nnrank = NoisyCrossEncoder(corpus)
    queries = queries_of(corpus, later[:3], context=True)
    ranking, signals = StagedCandidates(first, SecondStage(first.index, nnrank=nnrank), depth=25).find(
        queries
    )
    expected = first.retrieve(queries, Options(depth=25))
    np.testing.assert_array_equal(ranking.rows, expected.ranking.rows)
    assert set(signals) == {*expected.signals, "nnrank"}
    np.testing.assert_array_equal(signals["nnrank"], nnrank.score(queries, expected.ranking))


def test_with_reranking_they_are_the_best_with_the_features_of_both_scores(
    corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    cross = NoisyCrossEncoder(corpus)
    second = SecondStage(first.index, cross_encoder=cross)
    queries = queries_of(corpus, later[:3], context=False)
    ranking, signals = StagedCandidates(first, second, depth=25, rerank=6).find(queries)
    expected = first.retrieve(queries, Options(depth=25))
    np.testing.assert_array_equal(ranking.rows, expected.ranking.rows[:, :6])
    assert cross.pairs == 18
    for name in ("first-stage", "cross-encoder"):
        assert {name, f"{name}/gap", f"{name}/rank"} <= set(signals)
    assert all(values.shape == (3, 6) for values in signals.values())
    np.testing.assert_array_equal(signals["first-stage/rank"], np.tile(np.arange(6), (3, 1)))

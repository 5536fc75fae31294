"""Fusion: against sums made one by one; learned weights find the signal that matters."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from helpers.topic_corpus import queries_of
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import NO_ROW, Ranking, Retriever
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.fusion import (
    FusedRetriever,
    learn_weights,
    max_normalised,
    mean_reciprocal_rank,
    reciprocal_rank,
    weighted_sum,
)
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.citing_sentences import CitingSentences
from cocite.retrieval.signals.neighbours import Neighbours

one_ranking = st.lists(st.integers(0, 9), unique=True, max_size=5)


def ranking_of(rows: list[list[int]], depth: int = 5) -> Ranking:
    padded = np.full((len(rows), depth), NO_ROW, np.int32)
    scores = np.full((len(rows), depth), -np.inf, np.float32)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
        scores[i, : len(row)] = np.arange(len(row), 0, -1)
    return Ranking(padded, scores)


@given(st.lists(st.tuples(one_ranking, one_ranking), min_size=1, max_size=3), st.integers(1, 12))
def test_fusion_equals_the_sums_made_one_by_one(pairs: list[tuple[list[int], list[int]]], k: int) -> None:
    rankings = [ranking_of([a for a, _ in pairs]), ranking_of([b for _, b in pairs])]
    by_rank, by_score = reciprocal_rank(rankings, k), weighted_sum(rankings, [2.0, 0.5], k)
    for query, lists in enumerate(pairs):
        ranks: dict[int, float] = defaultdict(float)
        sums: dict[int, float] = defaultdict(float)
        for weight, rows in zip((2.0, 0.5), lists, strict=True):
            for place, row in enumerate(rows):
                ranks[row] += 1 / (61 + place)
                sums[row] += weight * (len(rows) - place) / len(rows)
        for result, expected in ((by_rank, ranks), (by_score, sums)):
            found = result.rows[query] != NO_ROW
            assert found.sum() == min(k, len(expected))
            values = [expected[row] for row in result.rows[query][found].tolist()]
            np.testing.assert_allclose(result.scores[query][found], values, rtol=1e-6)
            np.testing.assert_allclose(
                values, sorted(expected.values(), reverse=True)[: len(values)], rtol=1e-6
            )


def test_scores_are_relative_to_the_best() -> None:
    scores = np.array([[2, 1, -np.inf], [0, -1, 0], [-np.inf] * 3], np.float32)
    np.testing.assert_array_equal(max_normalised(scores), [[1, 0.5, -np.inf], [0, 0, 0], [-np.inf] * 3])


@given(st.integers(0, 50))
def test_mrr_counts_who_is_ahead(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, relevant = rng.permuted(np.tile(np.arange(6.0), (5, 1)), axis=1), rng.random((5, 6)) < 0.3
    expected = []
    for row, answers in zip(scores, relevant, strict=True):
        order = np.argsort(-row)
        places = [i for i, paper in enumerate(order, 1) if answers[paper]]
        expected.append(1 / places[0] if places else 0.0)
    assert mean_reciprocal_rank(scores, relevant) == pytest.approx(np.mean(expected))


def test_learned_weights_beat_each_signal_and_drop_noise() -> None:
    rng = np.random.default_rng(0)
    relevant = np.zeros((400, 30), bool)
    relevant[np.arange(400), rng.integers(30, size=400)] = True
    signals = rng.random((400, 30, 4))
    signals[:, :, 0] += 0.5 * relevant
    signals[:, :, 2] += 0.4 * relevant
    signals[:, :, 3] -= 0.5 * relevant
    weights = learn_weights(signals, relevant)
    alone = [mean_reciprocal_rank(signals[:, :, i], relevant) for i in range(4)]
    assert mean_reciprocal_rank(signals @ weights, relevant) > max(alone) + 0.05
    assert weights[3] == 0
    assert weights[[0, 2]].min() > 2 * weights[1]
    np.testing.assert_array_equal(weights, learn_weights(signals, relevant))


def test_retrievers_as_one(corpus: Corpus) -> None:
    index = Index.build(corpus, History.all(corpus))
    members: list[Retriever] = [Bm25Retriever(index, "title"), CitingSentences(index), Neighbours(index)]
    queries = queries_of(corpus, range(50, 70))
    for weights in (None, [1.0, 0.5, 0.25]):
        fused = FusedRetriever(members, weights)
        assert isinstance(fused, Retriever)
        ranking = fused.search(queries, 10)
        assert ranking.rows.shape == (20, 10)
        assert not (ranking.rows == np.array([[q.paper] for q in queries])).any()
    np.testing.assert_array_equal(
        FusedRetriever(members[:1], [1.0]).search(queries, 10).rows, members[0].search(queries, 10).rows
    )


def test_mistakes_are_told() -> None:
    with pytest.raises(InputError, match="1 weights for 2"):
        weighted_sum([ranking_of([[1]]), ranking_of([[2]])], [1.0], 3)
    with pytest.raises(InputError, match="nothing to fuse"):
        reciprocal_rank([], 3)

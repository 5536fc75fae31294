"""Ranking metrics: against ir-measures, a public evaluator, and against their definitions written as loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cocite.ranking_metrics import (
    f1,
    precision_at,
    precision_of,
    recall_at,
    recall_of,
    reciprocal_rank,
    reciprocal_rank_of,
)

DEPTHS = (1, 3, 10, 20)
HITS = hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12))


@given(HITS, st.data())
def test_precision_recall_and_reciprocal_rank_are_those_of_ir_measures(hits, data):
    import ir_measures
    from ir_measures import RR, P, R

    queries, depth = hits.shape
    missing = np.array(data.draw(st.lists(st.integers(0, 3), min_size=queries, max_size=queries)))
    counts = hits.sum(axis=1) + missing
    names = [f"d{place}" for place in range(depth)]
    run = {f"q{q}": {name: float(depth - place) for place, name in enumerate(names)} for q in range(queries)}
    qrels = {
        f"q{q}": {name: 1 for name, hit in zip(names, hits[q], strict=True) if hit}
        | {f"missing{i}": 1 for i in range(missing[q])}
        for q in range(queries)
    }
    qrels = {query: documents for query, documents in qrels.items() if documents}
    if not qrels:
        return
    ours = {RR: reciprocal_rank(hits)}
    ours |= {P @ k: precision_at(hits, k) for k in DEPTHS}
    ours |= {R @ k: recall_at(hits, counts, k) for k in DEPTHS}
    for value in ir_measures.iter_calc([*ours], qrels, run):
        mine = ours[value.measure][int(value.query_id[1:])]
        assert mine == pytest.approx(value.value, abs=1e-6), value.measure


@given(HITS, st.integers(1, 15))
def test_values_are_those_of_a_loop_to_the_bit(hits, k):
    counts = hits.sum(axis=1) + np.arange(len(hits)) % 3
    for q, row in enumerate(hits.tolist()):
        retrieved = sum(row[:k])
        assert precision_at(hits, k)[q] == retrieved / k
        assert recall_at(hits, counts, k)[q] == (retrieved / int(counts[q]) if counts[q] else 0)
        assert reciprocal_rank(hits)[q] == (1 / (1 + row.index(True)) if any(row) else 0)
        precision, recall = precision_at(hits, k)[q], recall_at(hits, counts, k)[q]
        expected = 2 * precision * recall / (precision + recall) if precision + recall else 0
        assert f1(precision_at(hits, k), recall_at(hits, counts, k))[q] == f1(precision, recall) == expected


@given(HITS, st.integers(1, 15))
def test_a_matrix_and_what_it_is_reduced_to_have_the_same_values(hits, k):
    counts = hits.sum(axis=1) + 1
    retrieved = np.array([sum(row[:k]) for row in hits.tolist()])
    first = np.array([row.index(True) + 1 if True in row else 0 for row in hits.tolist()])
    np.testing.assert_array_equal(precision_at(hits, k), precision_of(retrieved, k))
    np.testing.assert_array_equal(recall_at(hits, counts, k), recall_of(retrieved, counts))
    np.testing.assert_array_equal(reciprocal_rank(hits), reciprocal_rank_of(first))


def test_f1_of_nothing_is_zero_and_of_an_unjudged_query_nan():
    np.testing.assert_array_equal(
        f1(np.array([0.0, np.nan, 0.5]), np.array([0.0, np.nan, 0.5])), [0, np.nan, 0.5]
    )


def test_rankings_without_candidates_and_without_queries():
    nothing = np.zeros((2, 0), bool)
    assert reciprocal_rank(nothing).tolist() == [0, 0]
    assert recall_at(nothing, np.array([0, 3]), 5).tolist() == [0, 0]
    assert precision_at(np.zeros((0, 4), bool), 2).shape == (0,)

"""Sparse scores: against dense sums."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.retrieval.signals.sparse_scores import SparseScores

entries = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.sampled_from([0.5, 1.0, 4.0])))


@given(entries, st.integers(1, 5))
def test_they_are_the_sums(pairs: list[tuple[int, int, float]], k: int) -> None:
    expected = np.zeros((3, 7), np.float32)
    for query, paper, value in pairs:
        expected[query, paper] += value
    columns = zip(*pairs, strict=True) if pairs else ([], [], [])
    scores = SparseScores.sum(*map(list, columns), (3, 7))
    np.testing.assert_allclose(scores.dense(), expected)
    rows = np.array([[0, 6, -1]] * 3)
    np.testing.assert_allclose(scores.at(rows), np.where(rows < 0, 0, expected[:, rows[0]]))
    for query in range(3):
        best = scores.best(query, k)
        assert len(set(best.tolist())) == len(best) == min(k, (expected[query] > 0).sum())
        assert sorted(expected[query, best]) == sorted(expected[query])[7 - len(best) :]
    chosen = np.array([True, False, True])
    np.testing.assert_allclose(scores.only(chosen).dense(), expected * chosen[:, None])

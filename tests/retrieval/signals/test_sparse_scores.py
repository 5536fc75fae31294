"""Sparse scores: against dense sums."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
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


@given(
    st.lists(st.lists(st.integers(0, 6), unique=True), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.floats(0.125, 9, width=32))),
)
def test_sums_over_lists_are_the_sums_of_their_papers(lists: list[list[int]], asked: list[tuple]) -> None:
    asked = sorted((query, row % len(lists), value) for query, row, value in asked)
    pairs = [(i, paper) for i, own in enumerate(lists) for paper in own]
    csr = CSR.build([i for i, _ in pairs], [paper for _, paper in pairs], len(lists))
    given_lists = [list(column) for column in zip(*asked, strict=True)] or [[], [], []]
    scores = SparseScores.sum_lists(csr, *given_lists, (3, 7))
    triples = [(query, paper, value) for query, row, value in asked for paper in lists[row]]
    columns = [list(column) for column in zip(*triples, strict=True)] or [[], [], []]
    expected = SparseScores.sum(*columns, (3, 7))
    for name in ("indptr", "papers", "values"):
        one, two = getattr(scores, name), getattr(expected, name)
        assert one.dtype == two.dtype
        assert one.tolist() == two.tolist(), name


def test_no_queries_have_no_scores() -> None:
    scores = SparseScores.sum_lists(CSR.build([0], [3], 1), [], [], [], (0, 7))
    assert scores.dense().shape == (0, 7)

"""Inverted lists: against dense sums and sorting, with and without a budget."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cocite.retrieval.engines import kernels
from cocite.retrieval.engines.inverted_lists import InvertedLists, TextCounts
from cocite.retrieval.engines.scratch import SCRATCH

weights = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 12), st.integers(1, 6)),
    elements=st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 3.0]),
)


@given(weights)
def test_lists_hold_each_posting_once_heaviest_first(dense: np.ndarray) -> None:
    lists = InvertedLists.of(sp.csr_matrix(dense))
    assert lists.documents == len(dense)
    for word, column in enumerate(dense.T):
        part = slice(lists.indptr[word], lists.indptr[word + 1])
        order = [row for row in np.argsort(-column, kind="stable") if column[row]]
        assert lists.rows[part].tolist() == order
        assert lists.weights[part].tolist() == column[order].tolist()


@given(weights, st.integers(1, 12), st.data())
def test_best_is_the_sorted_sum(dense: np.ndarray, k: int, data: st.DataObject) -> None:
    lists = InvertedLists.of(sp.csr_matrix(dense))
    count = data.draw(st.integers(0, dense.shape[1]))
    words = np.arange(dense.shape[1])[:count]
    factors = np.array(
        data.draw(st.lists(st.sampled_from([1, 2]), min_size=count, max_size=count)), np.float32
    )
    forbidden = np.array(data.draw(st.lists(st.integers(0, len(dense) - 1), unique=True)), np.int64)
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(dense), max_size=len(dense))))
    expected = dense[:, words] @ factors
    expected[forbidden], expected[~allowed] = 0, 0
    order = [row for row in np.argsort(-expected, kind="stable") if expected[row] > 0][:k]
    best = lists.best(words, factors, k, forbidden=forbidden, allowed=allowed)
    assert best.rows.tolist() == order
    np.testing.assert_allclose(best.scores, expected[order], rtol=1e-6)
    # The thread's arrays are as they were, for the next query.
    assert not SCRATCH.take("scores", len(dense), np.float32, 0).any()


@given(weights, st.integers(1, 30))
def test_a_budget_reads_the_heaviest_postings(dense: np.ndarray, budget: int) -> None:
    lists = InvertedLists.of(sp.csr_matrix(dense))
    words = np.arange(dense.shape[1])
    factors = np.linspace(1, 2, len(words)).astype(np.float32)
    ends = kernels.heads(lists.indptr, lists.weights, words, factors, budget)
    shares = dense * factors
    read = [shares[lists.rows[lists.indptr[w] : lists.indptr[w] + ends[w]], w] for w in words]
    left = [shares[lists.rows[lists.indptr[w] + ends[w] : lists.indptr[w + 1]], w] for w in words]
    assert ends.sum() <= max(budget, 0)
    least = min(np.concatenate(read), default=np.inf)
    assert max(np.concatenate(left), default=-np.inf) <= least * (1 + 1e-6)
    best = lists.best(words, factors, 20, budget=budget)
    assert (best.scores <= shares[best.rows].sum(axis=1) * (1 + 1e-6)).all()


@given(weights)
def test_dense_scores_are_the_product(dense: np.ndarray) -> None:
    lists = InvertedLists.of(sp.csr_matrix(dense))
    queries = np.stack([np.ones(dense.shape[1]), np.zeros(dense.shape[1]), np.arange(dense.shape[1])])
    numbers = [np.repeat(np.arange(dense.shape[1]), times.astype(int))[::-1] for times in queries]
    counts = TextCounts.of(np.concatenate(numbers), np.cumsum([0, *map(len, numbers)]), dense.shape[1])
    np.testing.assert_allclose(lists.dense(counts), queries @ dense.T, rtol=1e-6)


def test_an_error_leaves_no_scores_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = InvertedLists.of(sp.csr_matrix(np.array([[1.0], [2.0]], np.float32)))

    def broken(*_: object) -> None:
        raise RuntimeError("interrupted")

    monkeypatch.setattr(kernels, "take_best", broken)
    with pytest.raises(RuntimeError, match="interrupted"):
        lists.best(np.array([0]), np.ones(1, np.float32), 1)
    monkeypatch.undo()
    assert lists.best(np.array([0]), np.ones(1, np.float32), 2).scores.tolist() == [2.0, 1.0]

"""Votes: against counting them one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Ranking
from cocite.retrieval.signals.votes import KINDS, count_votes, relative

PAPERS, ITEMS = 7, 5
cited = st.lists(st.sets(st.integers(0, PAPERS - 1)), min_size=ITEMS, max_size=ITEMS)
item = st.tuples(st.integers(NO_ROW, ITEMS - 1), st.floats(0.125, 1, width=32))
nearest = st.lists(st.lists(item, min_size=3, max_size=3), min_size=0, max_size=4)


def table(cited: list[set[int]]) -> CSR:
    pairs = [(i, p) for i, papers in enumerate(cited) for p in papers]
    return CSR.build([i for i, _ in pairs], [p for _, p in pairs], ITEMS)


@given(nearest, cited)
def test_votes_are_those_counted_by_hand(
    nearest: list[list[tuple[int, float]]], cited: list[set[int]]
) -> None:
    rows = np.array([[v for v, _ in row] for row in nearest], np.int32).reshape(-1, 3)
    scores = np.array([[w for _, w in row] for row in nearest], np.float32).reshape(-1, 3)
    votes = count_votes(Ranking(rows, scores), table(cited), PAPERS)
    weights: list[list[list[float]]] = [[[] for _ in range(PAPERS)] for _ in nearest]
    for query, row in enumerate(nearest):
        for v, weight in row:
            for paper in cited[v] if v != NO_ROW else ():
                weights[query][paper].append(weight)
    measures = {
        "sum": sum,
        "max": lambda w: max(w, default=0),
        "cubes": lambda w: sum(x**3 for x in w),
        "count": len,
    }
    every = np.tile(np.arange(-1, PAPERS, dtype=np.int32), (len(nearest), 1))
    for kind in KINDS:
        expected = np.array([[measures[kind](w) for w in row] for row in weights], np.float32).reshape(
            -1, PAPERS
        )
        np.testing.assert_allclose(votes.dense(kind), expected, rtol=1e-6)
        np.testing.assert_allclose(votes.at(every, kind)[:, 1:], expected, rtol=1e-6)
        assert not votes.at(every, kind)[:, 0].any()
    ranking = votes.ranking(3)
    for query in range(len(nearest)):
        scores_ = votes.dense()[query]
        order = [p for p in np.argsort(-scores_, kind="stable") if scores_[p] > 0][:3]
        assert ranking.rows[query].tolist() == order + [NO_ROW] * (3 - len(order))


def test_weights_are_relative_to_the_nearest() -> None:
    ranking = Ranking(
        np.array([[4, 2, 0], [1, NO_ROW, NO_ROW], [3, 1, 2]], np.int32),
        np.array([[8, 4, 0], [5, -np.inf, -np.inf], [0, 0, 0]], np.float32),
    )
    result = relative(ranking)
    np.testing.assert_array_equal(result.rows, [[4, 2, NO_ROW], [1, NO_ROW, NO_ROW], [NO_ROW] * 3])
    np.testing.assert_array_equal(result.scores[0], [1, 0.5, -np.inf])


def test_an_unknown_kind_is_refused() -> None:
    votes = count_votes(
        Ranking(np.zeros((1, 1), np.int32), np.ones((1, 1), np.float32)), table([{1}, *[set()] * 4]), 7
    )
    with pytest.raises(ValueError, match="median"):
        votes.dense("median")

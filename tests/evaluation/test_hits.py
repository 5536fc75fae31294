"""Hits: the ranks of relevant papers, whatever the batches."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.rankings import rankings
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.evaluation.hits import UNRANKED, Hits
from cocite.protocols import Ranking


@given(rankings())
def test_chunks_and_batches_change_nothing(case):
    import cocite.evaluation.hits as module

    ranking, relevant = case
    whole = Hits.of(ranking, relevant)
    before, module.CELLS = module.CELLS, 3
    try:
        chunked = Hits.of(ranking, relevant)
    finally:
        module.CELLS = before
    parts = Hits.concatenate(
        [
            Hits.of(Ranking(ranking.rows[i : i + 1], ranking.scores[i : i + 1]), relevant[i : i + 1])
            for i in range(len(ranking))
        ]
    )
    for other in (chunked, parts):
        for array in ("indptr", "ranks", "rows"):
            np.testing.assert_array_equal(getattr(whole, array), getattr(other, array))
        assert other.depth == whole.depth


def test_csr_and_lists_agree_and_lengths_are_checked():
    ranking = Ranking(np.array([[1, 2], [2, 3]], np.int32), np.zeros((2, 2), np.float32))
    built = CSR.build([0, 1, 1], [2, 3, 9], 2)
    np.testing.assert_array_equal(Hits.of(ranking, built).ranks, Hits.of(ranking, [[2], [3, 9]]).ranks)
    with pytest.raises(ValueError, match="2 rankings but 1"):
        Hits.of(ranking, [[1]])


@given(rankings())
def test_ranks_are_those_of_a_loop(case):
    ranking, relevant = case
    hits = Hits.of(ranking, relevant)
    for q, rows in enumerate(relevant):
        listed = ranking.rows[q].tolist()
        expected = sorted((listed.index(row) + 1 if row in listed else UNRANKED, row) for row in rows)
        own = slice(hits.indptr[q], hits.indptr[q + 1])
        assert hits.ranks[own].tolist() == [rank for rank, _ in expected]
        assert sorted(zip(hits.ranks[own].tolist(), hits.rows[own].tolist(), strict=True)) == expected


@given(rankings(), st.data())
def test_chosen_queries_and_papers_are_those_of_fewer_rankings(case, data):
    ranking, relevant = case
    hits = Hits.of(ranking, relevant)
    order = np.array(data.draw(st.lists(st.integers(0, len(relevant) - 1), max_size=8)), np.int64)
    alone = Hits.of(Ranking(ranking.rows[order], ranking.scores[order]), [relevant[q] for q in order])
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(relevant), max_size=len(relevant))))
    some = hits.queries(mask)
    even = Hits.of(ranking, [[row for row in rows if row % 2 == 0] for rows in relevant])
    pairs = [
        (hits.take(order), alone),
        (some, hits.take(np.flatnonzero(mask))),
        (hits.papers(hits.rows % 2 == 0), even),
    ]
    for one, other in pairs:
        for array in ("indptr", "ranks", "rows", "relevant", "owners"):
            np.testing.assert_array_equal(getattr(one, array), getattr(other, array))


def test_a_paper_that_stands_twice_has_its_first_rank():
    ranking = Ranking(np.array([[5, 3, 5, 3]], np.int32), np.zeros((1, 4), np.float32))
    assert Hits.of(ranking, [[3, 5]]).ranks.tolist() == [1, 2]
    assert len(Hits.concatenate([])) == 0


def test_the_citing_papers_stay_with_their_queries():
    ranking = Ranking(np.array([[1, 2], [2, 1], [3, 1]], np.int32), np.ones((3, 2), np.float32))
    hits = Hits.of(ranking, [[1], [1], [3]], np.array([7, 7, 8]))
    assert hits.queries(np.array([False, True, True])).citing.tolist() == [7, 8]
    assert hits.take(np.array([2, 0])).citing.tolist() == [8, 7]
    assert hits.papers(np.array([True, False, True])).citing.tolist() == [7, 7, 8]
    assert Hits.concatenate([hits, Hits.of(ranking, [[1], [1], [3]])]).citing.tolist() == [
        7,
        7,
        8,
        -1,
        -1,
        -1,
    ]
    with pytest.raises(ValueError, match="3 rankings but 2 citing papers"):
        Hits.of(ranking, [[1], [1], [3]], np.array([7, 7]))

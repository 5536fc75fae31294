"""Rankings: the best columns of dense scores, and reordering by new ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from cocite.errors import IntegrityError
from cocite.protocols import NO_ROW, Query, Ranking, require_finite, shift_below

# Few distinct values, so that ties are everywhere, the cut included.
tied = st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 0.25000003, 3.0])
matrices = npst.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(0, 12)), elements=tied)


@given(matrices, st.integers(0, 15))
def test_best_is_the_head_of_a_full_sort(scores: NDArray[np.float32], k: int) -> None:
    ranking = Ranking.best(scores, k)
    assert ranking.rows.dtype == np.int32
    assert ranking.scores.dtype == np.float32
    assert ranking.depth == min(k, scores.shape[1])
    assert len(ranking) == len(scores)
    for i, row in enumerate(scores.tolist()):
        expected = sorted((-score, column) for column, score in enumerate(row) if score > -np.inf)[:k]
        padding = ranking.depth - len(expected)
        assert ranking.rows[i].tolist() == [column for _, column in expected] + [NO_ROW] * padding
        assert ranking.scores[i].tolist() == [-score for score, _ in expected] + [-np.inf] * padding


@given(matrices, st.integers(1, 12), st.data())
def test_rescored_sorts_the_same_candidates_and_keeps_ties_in_order(
    scores: NDArray[np.float32], k: int, data: st.DataObject
) -> None:
    first = Ranking.best(scores, k)
    fresh = data.draw(npst.arrays(np.float32, first.rows.shape, elements=tied))
    second = first.rescored(fresh)
    for i in range(len(first)):
        candidates = [
            (-score, position, row)
            for position, (row, score) in enumerate(
                zip(first.rows[i].tolist(), fresh[i].tolist(), strict=True)
            )
            if row != NO_ROW
        ]
        # A candidate that is given -inf ties with the padding, which stands behind it already.
        expected = [row for _, _, row in sorted(candidates)]
        assert second.rows[i].tolist() == expected + [NO_ROW] * (first.depth - len(expected))
        assert second.scores[i].tolist()[: len(expected)] == [-score for score, _, _ in sorted(candidates)]


def test_a_score_that_is_not_a_number_is_refused() -> None:
    scores = np.array([[1, 2, 3], [1, np.nan, 3]], np.float32)
    with pytest.raises(ValueError, match="query 1"):
        Ranking.best(scores, 2)
    ranking = Ranking.best(np.array([[1, 2, 3]], np.float32), 3)
    with pytest.raises(ValueError, match="query 0"):
        ranking.rescored(np.array([[1, np.nan, 3]], np.float32))


def test_padding_may_be_scored_with_anything() -> None:
    ranking = Ranking.best(np.array([[1, -np.inf, 3]], np.float32), 3)
    again = ranking.rescored(np.array([[1, 2, np.nan]], np.float32))
    assert again.rows.tolist() == [[0, 2, NO_ROW]]
    assert again.scores.tolist() == [[2, 1, -np.inf]]


def test_top_cuts_columns() -> None:
    ranking = Ranking.best(np.array([[1, 5, 3], [9, 8, 7]], np.float32), 3).top(2)
    assert ranking.rows.tolist() == [[1, 2], [0, 1]]
    assert ranking.top(10).depth == 2


def test_a_query_with_a_context_is_local() -> None:
    assert Query("q", context="as shown by").is_local
    assert not Query("q", title="A title").is_local


finite = st.sampled_from([-1.5, 0.0, 0.25, 3.0, 1e4])


@given(
    npst.arrays(np.float32, st.tuples(st.just(3), st.integers(0, 5)), elements=tied),
    npst.arrays(np.float32, st.tuples(st.just(3), st.integers(0, 5)), elements=tied),
)
def test_shifted_scores_are_below_the_head_and_keep_their_distances(
    head: NDArray[np.float32], tail: NDArray[np.float32]
) -> None:
    shifted = shift_below(tail, head)
    assert shifted.dtype == np.float32
    for above, before, after in zip(head, tail, shifted, strict=True):
        real, known = np.isfinite(before), np.isfinite(above)
        np.testing.assert_array_equal(after[~real], before[~real])
        if real.any() and known.any():
            assert after[real].max() == np.float32(above[known].min() - 1)
            np.testing.assert_allclose(
                after[real] - after[real].max(), before[real] - before[real].max(), atol=1e-5
            )
        else:
            np.testing.assert_array_equal(after, before)


@given(npst.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 9)), elements=finite), st.data())
def test_a_head_followed_by_its_tail_is_the_whole_in_the_heads_new_order(
    scores: NDArray[np.float32], data: st.DataObject
) -> None:
    ranking = Ranking.best(scores, 8)
    depth = data.draw(st.integers(0, 9))
    head = ranking.top(depth)
    head = head.rescored(data.draw(npst.arrays(np.float32, head.rows.shape, elements=finite)))
    whole = head.followed_by(ranking.after(depth))
    assert whole.rows.shape == ranking.rows.shape
    np.testing.assert_array_equal(whole.rows[:, :depth], head.rows)
    np.testing.assert_array_equal(whole.rows[:, depth:], ranking.rows[:, depth:])
    assert (np.diff(whole.scores, axis=1) <= 0).all(), "a run is sorted by score"


def test_padding_behind_a_head_stays_padding() -> None:
    head = Ranking(np.array([[4, NO_ROW]], np.int32), np.array([[2, -np.inf]], np.float32))
    tail = Ranking(np.array([[NO_ROW]], np.int32), np.array([[7]], np.float32))
    whole = head.followed_by(tail)
    assert whole.rows.tolist() == [[4, NO_ROW, NO_ROW]]
    assert whole.scores.tolist() == [[2, -np.inf, -np.inf]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused_with_their_part(value: float) -> None:
    require_finite(np.array([1.0, -2.0]), "nnrank", "scores")
    with pytest.raises(IntegrityError, match="^nnrank: scores are not finite numbers"):
        require_finite(np.array([[1.0, value]]), "nnrank", "scores")


def test_older_candidates_are_those_of_the_querys_year() -> None:
    assert Query("q", year=2000).older_candidates() == Query("q", year=2000, candidates_until=2000)
    assert Query("q").older_candidates() == Query("q")

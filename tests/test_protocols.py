"""Rankings: the best columns of dense scores, and reordering by new ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Query, Ranking

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

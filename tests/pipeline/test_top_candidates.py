"""From all candidates to the few that a costly model reads, and back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from cocite.pipeline.top_candidates import TopCandidates, combine_standardised, rank_features
from cocite.protocols import NO_ROW

scores_of = npst.arrays(
    np.float32, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.sampled_from([-2.0, 0.0, 0.5, 7.0])
)  # fmt: skip


@given(scores_of, st.integers(1, 10), st.data())
def test_the_chosen_come_first_and_the_others_keep_their_order(scores, count, data) -> None:
    rows = np.arange(scores.size, dtype=np.int32).reshape(scores.shape)
    filled = data.draw(st.integers(0, scores.shape[1]))
    rows[:, filled:] = NO_ROW
    top = TopCandidates.select(rows, scores, count)
    new = data.draw(npst.arrays(np.float32, top.columns.shape, elements=st.floats(-3, 3, width=32)))
    new = np.where(top.ranking.rows == NO_ROW, -np.inf, new).astype(np.float32)
    after = top.merge(new, scores)
    for i in range(len(rows)):
        real = rows[i] != NO_ROW
        best = np.argsort(-np.where(real, scores[i], -np.inf), kind="stable")[:filled]
        head, tail = best[:count], best[count:]
        assert top.columns[i][: len(head)].tolist() == head.tolist()
        order = best[np.argsort(-after[i][best], kind="stable")]
        np.testing.assert_array_equal(order, [*head[np.argsort(-new[i][: len(head)], kind="stable")], *tail])
        if len(tail) and len(head):
            assert after[i][tail].max() < after[i][head].min()
    back = top.scatter(new)
    np.testing.assert_array_equal(np.take_along_axis(back, top.columns, 1), new)
    assert np.isnan(back).sum() == back.size - new.size


def test_standing_is_a_score_its_gap_and_its_rank() -> None:
    found = rank_features("x", np.array([[3, 5, np.nan, 5], [np.nan] * 4], np.float32))
    assert set(found) == {"x", "x/gap", "x/rank"}
    np.testing.assert_array_equal(found["x/gap"][0], [2, 0, np.nan, 0])
    np.testing.assert_array_equal(found["x/rank"], [[2, 0, 3, 1], [0, 1, 2, 3]])
    assert np.isnan(found["x/gap"][1]).all()


def test_weights_compare_scores_of_any_scale() -> None:
    first = np.array([[10, 20, 30, 0]], np.float32)
    second = np.array([[0.3, 0.2, 0.1, np.nan]], np.float32)
    assert combine_standardised(first, second, 0.5)[0, :3].round(6).tolist() == [0, 0, 0]
    assert np.argsort(-combine_standardised(first, second, 0.4)[0, :3]).tolist() == [2, 1, 0]
    assert np.argsort(-combine_standardised(first, second, 1.0)[0, :3]).tolist() == [0, 1, 2]
    assert np.isnan(combine_standardised(first, second, 0.4)[0, 3])
    np.testing.assert_allclose(
        combine_standardised(first * 1000 - 5, second, 0.3),
        combine_standardised(first, second, 0.3),
        rtol=1e-5,
    )
    same = np.full((1, 4), 2, np.float32)
    assert combine_standardised(same, same, 0.5).tolist() == [[0, 0, 0, 0]]

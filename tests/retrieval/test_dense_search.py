"""Dense search: blocks change nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.protocols import Query
from cocite.retrieval import dense_search
from cocite.retrieval.dense_search import keep_positive


@given(st.integers(0, 9), st.integers(1, 12), st.integers(1, 9), st.integers(0, 99))
def test_blocks_do_not_change_a_ranking(queries: int, papers: int, k: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(-2, 3, (queries, papers)).astype(np.float32)
    asked = [Query(str(i)) for i in range(queries)]

    def of_block(block: Sequence[Query]) -> np.ndarray:
        return scores[[int(query.id) for query in block]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense_search, "CELLS", 2 * papers)  # two queries a block
        ranking = dense_search.search_dense(asked, k, papers, of_block)
    assert ranking.rows.shape == (queries, min(k, papers))
    np.testing.assert_array_equal(ranking.rows, np.argsort(-scores, axis=1, kind="stable")[:, :k])


def test_only_positive_scores_stay_and_the_array_is_changed_in_place() -> None:
    scores = np.array([[0.0, 2.0, -1.0, -np.inf]], np.float32)
    assert keep_positive(scores) is scores
    assert scores.tolist() == [[-np.inf, 2.0, -np.inf, -np.inf]]

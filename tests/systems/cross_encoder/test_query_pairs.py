from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.systems.cross_encoder.query_pairs import QueryPairs, stack
from cocite.text.token_lists import TokenLists

TOKENS = st.lists(st.integers(0, 99), max_size=5)
PAIRS = st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=6), st.integers(0, 6), st.integers(0, 6))


@given(st.lists(PAIRS, min_size=1, max_size=4))
def test_stacked_pairs_are_those_of_each_query_in_order(
    queries: list[tuple[list[int], list[list[int]], int, int]],
) -> None:
    parts, expected = [], []
    for query, candidates, start, stop in queries:
        pairs = QueryPairs(
            TokenLists.of([query]), TokenLists.of(candidates), np.zeros(len(candidates), np.int64)
        )
        parts.append((pairs, slice(start, stop)))
        expected += [(query, candidate) for candidate in candidates[start:stop]]
    left, right = stack(parts)
    assert [(left[i].tolist(), right[i].tolist()) for i in range(len(left))] == expected

from __future__ import annotations

from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.cocitation import count_pairs
from cocite.corpus.csr import CSR


@given(st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=5), max_size=12))
def test_cocitations_count_each_pair_of_a_group_once(groups: list[set[int]]) -> None:
    owner = [i for i, group in enumerate(groups) for _ in group]
    together, times = count_pairs(CSR.build(owner, [x for group in groups for x in group], len(groups)), 8)
    expected = Counter(pair for group in groups for pair in permutations(group, 2))
    rows, entries = together.pairs()
    found = dict(zip(zip(rows.tolist(), entries.tolist(), strict=True), times.tolist(), strict=True))
    assert found == dict(expected)

"""Token budgets and threads with a core each."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from cocite.nn.cpu_threads import one_core_threads, token_batches


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 100))
def test_batches_hold_each_sequence_once_the_longest_first_and_about_the_budget(
    lengths: list[int], tokens: int
) -> None:
    array = np.array(lengths, np.int64)
    batches = token_batches(array, tokens)
    flat = np.concatenate([*batches, np.zeros(0, np.int64)])
    assert sorted(flat.tolist()) == list(range(len(lengths)))
    assert (np.diff(array[flat]) <= 0).all()
    for batch in batches:
        assert array[batch].sum() <= tokens + array[batch][0] or len(batch) == 1


def test_each_thread_has_one_core_and_the_caller_keeps_its_own() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_core_threads(3, "test") as pool:
            assert list(pool.map(lambda _: torch.get_num_threads(), range(6))) == [1] * 6
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)

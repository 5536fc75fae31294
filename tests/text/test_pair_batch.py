"""Packed pairs: their lengths, their padded form, and their device."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cocite.text.pair_batch import PairBatch


def packed(pairs: list[tuple[int, int]]) -> PairBatch:
    """Pairs of so many tokens either side, numbered from 1 on."""
    lengths = [left + right for left, right in pairs]
    return PairBatch(
        torch.arange(1, sum(lengths) + 1),
        torch.tensor([side for left, right in pairs for side in [0] * left + [1] * right]),
        torch.from_numpy(np.cumsum([0, *lengths])),
        max(lengths),
    )


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=6))
def test_padding_shows_the_same_pairs(pairs: list[tuple[int, int]]) -> None:
    batch = packed(pairs)
    lengths = [left + right for left, right in pairs]
    ids, types, mask = batch.padded(pad=99)
    assert ids.shape == types.shape == mask.shape == (len(pairs), max(lengths))
    assert torch.equal(ids[mask], batch.ids)
    assert torch.equal(types[mask], batch.types)
    assert (ids[~mask] == 99).all()
    assert (types[~mask] == 0).all()
    assert mask.sum(1).tolist() == batch.lengths.tolist() == lengths
    assert batch.pairs.tolist() == [i for i, length in enumerate(lengths) for _ in range(length)]
    assert len(batch) == len(pairs)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_all_of_a_batch_moves(device: str) -> None:
    batch = packed([(2, 1), (1, 3)]).to(device)
    assert {tensor.device.type for tensor in (batch.ids, batch.types, batch.offsets)} == {device}
    assert batch.longest == 4

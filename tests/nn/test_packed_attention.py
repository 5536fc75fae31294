"""Attention of packed sequences against torch's, and how they are put into rectangles."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from cocite.nn.packed_attention import (
    HANDLING,
    UNEVEN,
    PackedSequences,
    attention,
    pack_by_length,
    rectangles,
)


def packed(lengths: list[int]) -> PackedSequences:
    return pack_by_length(torch.tensor(lengths))[0]


def plain(projected: torch.Tensor, sequences: PackedSequences, heads: int, *, causal: bool) -> torch.Tensor:
    """Sequence by sequence."""
    found = []
    for part in projected.split(sequences.lengths.tolist()):
        query, key, value = part.view(len(part), 3, heads, -1).permute(1, 2, 0, 3)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        found.append(seen.transpose(0, 1).flatten(1))
    return torch.cat(found)


@pytest.mark.parametrize("causal", [False, True])
def test_it_is_torchs(causal: bool) -> None:
    lengths = [3] * 300 + [5, 8, 1, 9] + [2] * 7
    sequences = packed(lengths)
    forms = {part.cells is None for part in sequences.rectangles}
    assert forms == {True, False}
    torch.manual_seed(0)
    ours = torch.randn(sum(lengths), 3 * 12, dtype=torch.float64, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    found = attention(ours, sequences, 3, causal=causal)
    expected = plain(theirs, sequences, 3, causal=causal)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    slope = torch.randn_like(expected)
    found.backward(slope)
    expected.backward(slope)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


def test_rows_are_averaged_and_summed() -> None:
    sequences = packed([2] * 400 + [4, 1, 7])
    states = torch.randn(812, 4, dtype=torch.float64)
    expected = torch.stack([part.mean(0) for part in states.split(sequences.lengths.tolist())])
    torch.testing.assert_close(sequences.mean(states), expected)
    torch.testing.assert_close(sequences.sum(states), expected * sequences.lengths[:, None])
    assert torch.autograd.gradcheck(
        packed([2, 3]).mean, (torch.randn(5, 2, dtype=torch.float64, requires_grad=True),)
    )


def cost(lengths: np.ndarray, ends: list[int]) -> float:
    total, start = 0.0, 0
    for end in ends:
        part = lengths[start:end]
        even = part[0] == part[-1]
        total += HANDLING + (1 if even else UNEVEN) * len(part) * part[-1]
        start = end
    return total


def test_no_other_cut_is_cheaper() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = np.sort(rng.choice(60, 5, replace=False) + 1)
        lengths = np.repeat(values, rng.integers(1, 60, 5))
        ends = rectangles(lengths)
        starts = np.searchsorted(lengths, values)[1:]
        every = [
            [*(int(s) for i, s in enumerate(starts) if mask >> i & 1), len(lengths)] for mask in range(16)
        ]
        assert cost(lengths, ends) == pytest.approx(min(cost(lengths, other) for other in every))
    assert rectangles(np.zeros(0, np.int64)) == []

"""Attention by products is PyTorch's attention, forward and backward."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from cocite.nn.attention import padded_attention


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("asking", [1, 7])
def test_bf16_gradients_on_a_cpu(masked: bool, asking: int) -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 2, asking, 8), (3, 2, 7, 8), (3, 2, 7, 8)]
    states = [torch.randn(shape, generator=generator).bfloat16().requires_grad_() for shape in shapes]
    exact = [part.detach().double().requires_grad_() for part in states]
    mask = (torch.arange(7) < torch.tensor([[7], [3], [1]]))[:, None, None, :] if masked else None
    weight = torch.randn(shapes[0], generator=generator)

    found = padded_attention(*states, mask)
    wanted = scaled_dot_product_attention(*exact, attn_mask=mask)
    torch.testing.assert_close(found.double(), wanted, rtol=0.02, atol=0.02)
    (found * weight).sum().backward()
    (wanted * weight).sum().backward()
    for mine, theirs in zip(states, exact, strict=True):
        assert mine.grad is not None
        assert theirs.grad is not None
        torch.testing.assert_close(mine.grad.double(), theirs.grad, rtol=0.05, atol=0.05)


def test_dropout_drops_weights() -> None:
    ones = torch.ones(1, 1, 4, 8, dtype=torch.bfloat16, requires_grad=True)
    torch.manual_seed(0)
    dropped = padded_attention(ones, ones, ones, dropout=0.5)
    assert set((dropped[0, 0, :, 0] * 2).tolist()) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    assert not torch.equal(dropped, ones)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_compiler_takes_products_in_one_graph(dropout: float) -> None:
    states = torch.randn(2, 2, 5, 8).bfloat16().requires_grad_()
    compiled = torch.compile(padded_attention, backend="eager", fullgraph=True, dynamic=True)
    found = []
    for attend in (compiled, padded_attention):
        torch.manual_seed(0)
        found.append(attend(states, states, states, dropout=dropout))
    assert torch.equal(*found)

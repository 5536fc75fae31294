"""HAtten's layers against the equations written out and against torch's own layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.torch_layers import torch_layer

from cocite.systems.hatten.layers import MultiHeadPooling, TransformerLayer, sinusoids


def pooled(pooling: MultiHeadPooling, x: np.ndarray) -> np.ndarray:
    """Eq. 1 and 2 for one sequence (L, d), head by head, in float64."""
    weights = {name: value.detach().double().numpy() for name, value in pooling.state_dict().items()}
    width = x.shape[1] // pooling.heads
    heads = []
    for j in range(pooling.heads):
        rows = slice(j * width, (j + 1) * width)
        values = x @ weights["value.weight"][rows].T + weights["value.bias"][rows]
        scores = x @ weights["score.weight"][j] + weights["score.bias"][j]
        shares = np.exp(scores) / np.exp(scores).sum()
        heads.append((shares[:, None] * values).sum(0))
    joined = np.maximum(np.concatenate(heads), 0)
    return joined @ weights["output.weight"].T + weights["output.bias"]


def test_pooling_is_that_of_equations_1_and_2() -> None:
    torch.manual_seed(1)
    pooling = MultiHeadPooling(12, 3).double()
    x = torch.randn(4, 7, 12, dtype=torch.float64)
    mask = torch.arange(7) < torch.tensor([7, 5, 1, 3])[:, None]
    found = pooling(x, mask).detach().numpy()
    for i, length in enumerate((7, 5, 1, 3)):
        assert found[i] == pytest.approx(pooled(pooling, x[i, :length].numpy()), abs=1e-12)


def test_pooling_has_the_gradients_of_finite_differences() -> None:
    torch.manual_seed(1)
    pooling = MultiHeadPooling(6, 2).double()
    x = torch.randn(3, 4, 6, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * 4, [True, True, False, False], [True, False, True, True]])
    assert torch.autograd.gradcheck(lambda x: pooling(x, mask), (x,))


def test_a_transformer_layer_is_the_one_of_torch() -> None:
    torch.manual_seed(2)
    ours = TransformerLayer(12, 3, 20, 0.0).eval()
    for part in (ours.project, ours.output, ours.widen, ours.narrow):
        torch.nn.init.normal_(part.bias)
    for norm in (ours.attention_norm, ours.forward_norm):
        torch.nn.init.normal_(norm.bias)
    theirs = torch_layer(ours, 12, 3, 20).eval()
    x = torch.randn(4, 6, 12)
    mask = torch.arange(6) < torch.tensor([6, 1, 4, 3])[:, None]
    expected = theirs(x, src_key_padding_mask=~mask)
    assert torch.allclose(ours(x, mask)[mask], expected[mask], atol=1e-6)


def test_positions_are_the_sinusoids_of_vaswani() -> None:
    found = sinusoids(5, 6).numpy()
    for place in range(5):
        for i in range(3):
            angle = place / 10_000 ** (2 * i / 6)
            assert found[place, 2 * i : 2 * i + 2] == pytest.approx([np.sin(angle), np.cos(angle)], abs=1e-6)

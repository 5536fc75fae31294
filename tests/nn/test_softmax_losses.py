"""Cross-entropies over candidates, written out in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cocite.nn.softmax_losses import listwise_losses, sampled_softmax_losses


def softmax_by_hand(
    similar: np.ndarray, target: np.ndarray, forbidden: np.ndarray, scale: float, offset: np.ndarray
) -> list[float]:
    terms = []
    for i, t in enumerate(target):
        logits = [scale * s + o for s, o, f in zip(similar[i], offset, forbidden[i], strict=True) if not f]
        terms.append(math.log(sum(math.exp(v) for v in logits)) - scale * similar[i, t] - offset[t])
    return terms


@given(st.integers(0, 1000))
def test_sampled_softmax_equals_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similar, target = rng.uniform(-1, 1, (4, 6)), rng.integers(0, 6, 4)
    forbidden = rng.random((4, 6)) < 0.4
    forbidden[np.arange(4), target] = False
    offset = rng.normal(size=6)
    found = sampled_softmax_losses(
        torch.from_numpy(similar),
        torch.from_numpy(target),
        torch.from_numpy(forbidden),
        scale=7.0,
        offset=torch.from_numpy(offset),
    )
    assert found.tolist() == pytest.approx(
        softmax_by_hand(similar, target, forbidden, 7.0, offset), abs=1e-10
    )


def test_sampled_softmax_gradient_is_zero_where_forbidden() -> None:
    similar = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    target, forbidden = torch.tensor([0, 1, 2]), torch.zeros(3, 5, dtype=torch.bool)
    forbidden[:, 4] = True

    def loss(values: torch.Tensor) -> torch.Tensor:
        return sampled_softmax_losses(values, target, forbidden, scale=3.0)

    assert torch.autograd.gradcheck(loss, similar)
    loss(similar).sum().backward()
    assert similar.grad is not None
    assert similar.grad[:, 4].abs().max() == 0
    assert similar.grad[:, 3].abs().min() > 0


@given(st.integers(0, 1000))
def test_listwise_equals_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, present = rng.normal(size=(4, 7)), rng.random((4, 7)) < 0.8
    present[:, 0] = True
    relevant = present & (rng.random((4, 7)) < 0.4)
    expected = []
    for row in range(4):
        total = math.log(sum(math.exp(v) for v, p in zip(logits[row], present[row], strict=True) if p))
        mine = [total - v for v, r in zip(logits[row], relevant[row], strict=True) if r]
        expected.append(sum(mine) / len(mine) if mine else 0.0)
    found = listwise_losses(*(torch.from_numpy(a) for a in (logits, relevant, present)))
    assert found.tolist() == pytest.approx(expected, abs=1e-10)


def test_listwise_gradient() -> None:
    logits = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    relevant = torch.tensor([[True, False, True, False], [False] * 4])
    present = torch.tensor([[True, True, True, False], [True] * 4])
    assert torch.autograd.gradcheck(lambda v: listwise_losses(v, relevant, present), logits)

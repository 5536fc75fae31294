"""Cross-entropies over candidates, written out in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from cocite.nn.softmax_losses import listwise_loss, listwise_losses, sampled_softmax_loss


def softmax_by_hand(
    similar: np.ndarray, target: np.ndarray, forbidden: np.ndarray, scale: float, offset: np.ndarray
) -> float:
    terms = []
    for i, t in enumerate(target):
        logits = [scale * s + o for s, o, f in zip(similar[i], offset, forbidden[i], strict=True) if not f]
        terms.append(math.log(sum(math.exp(v) for v in logits)) - scale * similar[i, t] - offset[t])
    return sum(terms) / len(terms)


@given(st.integers(0, 1000))
def test_sampled_softmax_equals_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similar, target = rng.uniform(-1, 1, (4, 6)), rng.integers(0, 6, 4)
    forbidden = rng.random((4, 6)) < 0.4
    forbidden[np.arange(4), target] = False
    offset = rng.normal(size=6)
    found = sampled_softmax_loss(
        torch.from_numpy(similar),
        torch.from_numpy(target),
        torch.from_numpy(forbidden),
        scale=7.0,
        offset=torch.from_numpy(offset),
    )
    assert found.item() == pytest.approx(softmax_by_hand(similar, target, forbidden, 7.0, offset), abs=1e-10)


def test_sampled_softmax_gradient_is_zero_where_forbidden() -> None:
    similar = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    target, forbidden = torch.tensor([0, 1, 2]), torch.zeros(3, 5, dtype=torch.bool)
    forbidden[:, 4] = True

    def loss(values: torch.Tensor) -> torch.Tensor:
        return sampled_softmax_loss(values, target, forbidden, scale=3.0)

    assert torch.autograd.gradcheck(loss, similar)
    loss(similar).backward()
    assert similar.grad is not None
    assert similar.grad[:, 4].abs().max() == 0
    assert similar.grad[:, 3].abs().min() > 0


@given(st.integers(0, 1000))
def test_listwise_equals_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, present = rng.normal(size=(4, 7)), rng.random((4, 7)) < 0.8
    present[:, 0] = True
    relevant = present & (rng.random((4, 7)) < 0.4)
    terms = []
    for row in range(4):
        total = math.log(sum(math.exp(v) for v, p in zip(logits[row], present[row], strict=True) if p))
        mine = [total - v for v, r in zip(logits[row], relevant[row], strict=True) if r]
        if mine:
            terms.append(sum(mine) / len(mine))
    found = listwise_loss(*(torch.from_numpy(a) for a in (logits, relevant, present)))
    assert found.item() == pytest.approx(sum(terms) / max(len(terms), 1), abs=1e-10)


def test_listwise_gradient() -> None:
    logits = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    relevant = torch.tensor([[True, False, True, False], [False] * 4])
    present = torch.tensor([[True, True, True, False], [True] * 4])
    assert torch.autograd.gradcheck(lambda v: listwise_loss(v, relevant, present), logits)


def lists() -> tuple[Tensor, Tensor, Tensor]:
    """Four queries of up to seven candidates: several relevant ones, one, one of two, none."""
    generator = torch.Generator().manual_seed(3)
    logits = 2 * torch.randn(4, 7, generator=generator, dtype=torch.float64)
    relevant = torch.zeros(4, 7, dtype=torch.bool)
    relevant[0, [0, 3]] = relevant[1, 2] = relevant[2, 0] = True
    present = torch.ones(4, 7, dtype=torch.bool)
    present[1, 5:] = present[2, 2:] = False
    return logits, relevant, present


def test_the_mean_over_lists_leaves_out_queries_without_an_answer() -> None:
    logits, relevant, present = lists()
    each = listwise_losses(logits, relevant, present)
    assert listwise_loss(logits, relevant, present).item() == pytest.approx(each[:3].mean().item())


@given(st.integers(0, 1000))
def test_listwise_losses_are_the_formula_of_each_query(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, present = rng.normal(size=(5, 6)), rng.random((5, 6)) < 0.8
    present[:, 0] = True
    relevant = present & (rng.random((5, 6)) < 0.4)
    relevant[0] = False
    expected = []
    for row in range(5):
        total = math.log(sum(math.exp(v) for v, p in zip(logits[row], present[row], strict=True) if p))
        mine = [total - v for v, r in zip(logits[row], relevant[row], strict=True) if r]
        expected.append(sum(mine) / len(mine) if mine else 0.0)
    found = listwise_losses(*(torch.from_numpy(a) for a in (logits, relevant, present)))
    assert found.tolist() == pytest.approx(expected, abs=1e-10)

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cocite.nn.softmax_losses import listwise_loss, sampled_softmax_loss
from cocite.systems.citeomatic.losses import (
    CITED_BY_CITED,
    MARGINS,
    NEIGHBOUR,
    RANDOM,
    citation_boost,
    margin_triplet_loss,
)


def by_hand(
    positive: list[float],
    negative: list[float],
    kind: list[int],
    cited: list[int],
    uncited: list[int],
    gamma: float,
) -> float:
    """Appendix B, one triplet after the other, in float64."""

    def boost(count: int) -> float:
        return 1 / (1 + math.exp(-count / 100)) / 50

    alpha = {0: 0.3, 1: 0.2, 2: 0.1}
    terms = [
        max(gamma * alpha[k] + n + boost(u) - p - boost(c), 0.0)
        for p, n, k, c, u in zip(positive, negative, kind, cited, uncited, strict=True)
    ]
    return sum(terms) / len(terms)


@given(st.integers(0, 1000), st.integers(1, 9), st.sampled_from([0.5, 1.0, 1.5]))
def test_margin_triplet_equals_the_formula(seed: int, count: int, gamma: float) -> None:
    rng = np.random.default_rng(seed)
    positive, negative = rng.uniform(-1, 1, (2, count))
    kind = rng.integers(0, 3, count)
    cited, uncited = rng.integers(0, 900, (2, count))
    found = margin_triplet_loss(
        *(torch.from_numpy(a) for a in (positive, negative, kind, cited, uncited)), gamma=gamma
    )
    expected = by_hand(
        positive.tolist(), negative.tolist(), kind.tolist(), cited.tolist(), uncited.tolist(), gamma
    )
    assert found.item() == pytest.approx(expected, abs=1e-12)


def test_margins_and_boost_are_those_of_the_appendix() -> None:
    assert (MARGINS[RANDOM], MARGINS[NEIGHBOUR], MARGINS[CITED_BY_CITED]) == (0.3, 0.2, 0.1)
    found = citation_boost(torch.tensor([0.0, 100.0, 1e9], dtype=torch.float64))
    assert found.tolist() == pytest.approx([0.01, 0.7310585786300049 / 50, 0.02], abs=1e-15)


def test_margin_triplet_gradient() -> None:
    rng = np.random.default_rng(0)
    similar = [torch.tensor(rng.uniform(-1, 1, 6), requires_grad=True) for _ in range(2)]
    rest = (torch.tensor([0, 1, 2, 0, 1, 2]), torch.arange(6), torch.arange(6) * 50)
    assert torch.autograd.gradcheck(lambda p, n: margin_triplet_loss(p, n, *rest), similar)


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

"""The losses of a reranker against their formulas, written out in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cocite.nn.softmax_losses import listwise_losses
from cocite.systems.cross_encoder.losses import pairwise_triplet_loss, pointwise_loss

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def lists() -> tuple[Tensor, Tensor, Tensor]:
    """Four queries of up to seven candidates: several relevant ones, one, one of two, none."""
    generator = torch.Generator().manual_seed(3)
    logits = 2 * torch.randn(4, 7, generator=generator, dtype=torch.float64)
    relevant = torch.zeros(4, 7, dtype=torch.bool)
    relevant[0, [0, 3]] = relevant[1, 2] = relevant[2, 0] = True
    present = torch.ones(4, 7, dtype=torch.bool)
    present[1, 5:] = present[2, 2:] = False
    return logits, relevant, present


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def equation_1(scores: list[float], relevant: list[bool]) -> float:
    p = [sigmoid(x) for x in scores]
    return -sum(math.log(x) if r else math.log(1 - x) for x, r in zip(p, relevant, strict=True))


def equation_3(scores: list[float], relevant: list[bool]) -> float:
    s = [sigmoid(x) for x in scores]
    triplets = [
        max(negative - positive + 0.1, 0)
        for positive, r in zip(s, relevant, strict=True)
        for negative, other in zip(s, relevant, strict=True)
        if r and not other
    ]
    return sum(triplets) / len(triplets) if triplets else 0.0


def top_one(scores: list[float], relevant: list[bool]) -> float:
    total = sum(math.exp(x) for x in scores)
    logs = [math.log(math.exp(x) / total) for x, r in zip(scores, relevant, strict=True) if r]
    return -sum(logs) / len(logs) if logs else 0.0


CASES = {
    "pointwise": (pointwise_loss, equation_1),
    "triplet": (pairwise_triplet_loss, equation_3),
    "listwise": (listwise_losses, top_one),
}


@pytest.mark.parametrize(("loss", "formula"), CASES.values(), ids=CASES)
def test_a_loss_is_its_formula(loss: Loss, formula: Callable[[list[float], list[bool]], float]) -> None:
    logits, relevant, present = lists()
    found = loss(logits, relevant, present)
    wanted = [
        formula(x[p].tolist(), r[p].tolist()) for x, r, p in zip(logits, relevant, present, strict=True)
    ]
    assert found.tolist() == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("loss", [case[0] for case in CASES.values()], ids=CASES)
def test_gradients_are_the_derivatives_and_padding_has_none(loss: Loss) -> None:
    logits, relevant, present = lists()
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(x, relevant, present), (logits,))
    (gradient,) = torch.autograd.grad(loss(logits, relevant, present).sum(), logits)
    assert torch.isfinite(gradient).all()
    assert not gradient[~present].any()


@pytest.mark.parametrize("loss", [case[0] for case in CASES.values()], ids=CASES)
def test_scores_at_padding_do_not_matter(loss: Loss) -> None:
    logits, relevant, present = lists()
    other = logits.masked_fill(~present, 50.0)
    assert torch.equal(loss(logits, relevant, present), loss(other, relevant, present))


def test_the_margin_is_a_setting() -> None:
    logits = torch.tensor([[2.0, -2.0]])
    relevant, present = torch.tensor([[True, False]]), torch.ones(1, 2, dtype=torch.bool)
    assert pairwise_triplet_loss(logits, relevant, present).item() == 0
    apart = sigmoid(2) - sigmoid(-2)
    assert pairwise_triplet_loss(logits, relevant, present, margin=0.9).item() == pytest.approx(0.9 - apart)

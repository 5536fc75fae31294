from __future__ import annotations

import torch

from cocite.systems.hatten.losses import triplet_losses


def test_each_triplet_costs_what_the_equation_says() -> None:
    positive, negative = torch.tensor([0.9, 0.5, 0.2]), torch.tensor([0.1, 0.45, 0.6])
    expected = [max(n - p + 0.1, 0.0) for p, n in zip([0.9, 0.5, 0.2], [0.1, 0.45, 0.6], strict=True)]
    assert torch.allclose(triplet_losses(positive, negative, margin=0.1), torch.tensor(expected))


def test_gradients_are_those_of_finite_differences() -> None:
    torch.manual_seed(0)
    pair = [torch.randn(7, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(lambda p, n: triplet_losses(p, n, margin=0.1), pair)

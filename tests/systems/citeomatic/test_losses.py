from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cocite.systems.citeomatic.losses import (
    CITED_BY_CITED,
    MARGINS,
    NEIGHBOUR,
    RANDOM,
    citation_boost,
    margin_triplet_losses,
)


def by_hand(
    positive: list[float],
    negative: list[float],
    kind: list[int],
    cited: list[int],
    uncited: list[int],
    gamma: float,
) -> list[float]:
    """Appendix B, one triplet after the other, in float64."""

    def boost(count: int) -> float:
        return 1 / (1 + math.exp(-count / 100)) / 50

    alpha = {0: 0.3, 1: 0.2, 2: 0.1}
    return [
        max(gamma * alpha[k] + n + boost(u) - p - boost(c), 0.0)
        for p, n, k, c, u in zip(positive, negative, kind, cited, uncited, strict=True)
    ]


@given(st.integers(0, 1000), st.integers(1, 9), st.sampled_from([0.5, 1.0, 1.5]))
def test_margin_triplet_equals_the_formula(seed: int, count: int, gamma: float) -> None:
    rng = np.random.default_rng(seed)
    positive, negative = rng.uniform(-1, 1, (2, count))
    kind = rng.integers(0, 3, count)
    cited, uncited = rng.integers(0, 900, (2, count))
    found = margin_triplet_losses(
        *(torch.from_numpy(a) for a in (positive, negative, kind, cited, uncited)), gamma=gamma
    )
    expected = by_hand(
        positive.tolist(), negative.tolist(), kind.tolist(), cited.tolist(), uncited.tolist(), gamma
    )
    assert found.tolist() == pytest.approx(expected, abs=1e-12)


def test_margins_and_boost_are_those_of_the_appendix() -> None:
    assert (MARGINS[RANDOM], MARGINS[NEIGHBOUR], MARGINS[CITED_BY_CITED]) == (0.3, 0.2, 0.1)
    found = citation_boost(torch.tensor([0.0, 100.0, 1e9], dtype=torch.float64))
    assert found.tolist() == pytest.approx([0.01, 0.7310585786300049 / 50, 0.02], abs=1e-15)


def test_margin_triplet_gradient() -> None:
    rng = np.random.default_rng(0)
    similar = [torch.tensor(rng.uniform(-1, 1, 6), requires_grad=True) for _ in range(2)]
    rest = (torch.tensor([0, 1, 2, 0, 1, 2]), torch.arange(6), torch.arange(6) * 50)
    assert torch.autograd.gradcheck(lambda p, n: margin_triplet_losses(p, n, *rest), similar)

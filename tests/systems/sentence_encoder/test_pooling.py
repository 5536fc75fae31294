"""Pooling packed states is pooling each text by itself."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from cocite.systems.sentence_encoder.pooling import Pooling, pool


def by_hand(states: Tensor, pooling: str) -> Tensor:
    """(d,) the vector of one text, up to a factor."""
    weights = torch.arange(1.0, len(states) + 1)[:, None]
    pooled: dict[str, Tensor] = {
        "mean": states.mean(0),
        "cls": states[0],
        "max": states.amax(0),
        "mean_sqrt_len_tokens": states.sum(0) / len(states) ** 0.5,
        "weightedmean": (states * weights).sum(0) / weights.sum(),
        "lasttoken": states[-1],
    }
    return pooled[pooling]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_packed_pooling_is_that_of_each_text(pooling: Any, dtype: torch.dtype) -> None:
    lengths = [5, 1, 9, 2]
    states = torch.randn(sum(lengths), 6, generator=torch.Generator().manual_seed(0)).to(dtype)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    found = pool(states, offsets, pooling)
    assert found.dtype == torch.float32
    for vector, part in zip(found, states.float().split(lengths), strict=True):
        wanted = by_hand(part, pooling)
        torch.testing.assert_close(vector, wanted / wanted.norm(), rtol=1e-5, atol=1e-6)

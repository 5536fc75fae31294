"""The loss of masked language modelling, written out in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cocite.systems.masked_lm.losses import text_losses
from cocite.systems.masked_lm.network import MaskedBatch


def batch_of(hidden: torch.Tensor, answers: torch.Tensor) -> MaskedBatch:
    return MaskedBatch(torch.zeros_like(hidden, dtype=torch.int64), torch.ones_like(hidden), hidden, answers)


@given(st.integers(0, 1000))
def test_the_loss_of_a_text_is_the_mean_over_its_hidden_tokens(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hidden = rng.random((4, 6)) < 0.4
    hidden[:, rng.integers(0, 6)] = True
    logits, answers = rng.normal(size=(hidden.sum(), 9)), rng.integers(0, 9, hidden.sum())
    expected, start = [], 0
    for count in hidden.sum(1).tolist():
        losses = [
            math.log(sum(math.exp(v) for v in row)) - row[answer]
            for row, answer in zip(
                logits[start : start + count].tolist(), answers[start : start + count].tolist(), strict=True
            )
        ]
        expected.append(sum(losses) / count)
        start += count
    batch = batch_of(torch.from_numpy(hidden), torch.from_numpy(answers))
    found = text_losses(torch.from_numpy(logits), batch)
    assert found.tolist() == pytest.approx(expected, rel=1e-5)


def test_the_loss_is_computed_in_fp32_of_logits_in_half_precision() -> None:
    hidden = torch.tensor([[True, False], [True, True]])
    batch = batch_of(hidden, torch.tensor([0, 1, 2]))
    logits = torch.randn(3, 5).bfloat16()
    assert text_losses(logits, batch).dtype == torch.float32
    torch.testing.assert_close(text_losses(logits, batch), text_losses(logits.float(), batch))

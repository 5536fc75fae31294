"""A frozen backbone against its own padded forward."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.small_berts import padded_states, small_bert
from helpers.token_pairs import random_batch
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.nn import packed_bert
from cocite.nn.frozen_bert import FrozenBert


@pytest.fixture(scope="module")
def bert() -> Any:
    return small_bert("bert")


@pytest.fixture(scope="module")
def frozen(bert: Any) -> list[tuple[FrozenBert, float]]:
    """All ways to freeze it, and how far its states may be off."""
    return [
        (FrozenBert(bert, "fp32", packed=True), 1e-5),
        (FrozenBert(bert, "fp32", packed=False), 1e-5),
        (FrozenBert(bert, "bf16", packed=True), 0.15),
    ]


@settings(max_examples=20)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_for_any_lengths_packed_frozen_and_padded_agree(
    bert: Any, frozen: list[tuple[FrozenBert, float]], lengths: list[int]
) -> None:
    batch = random_batch(lengths, seed=len(lengths))
    with torch.no_grad():
        wanted = padded_states(bert, batch)[batch.offsets[:-1]]
        torch.testing.assert_close(packed_bert.first_states(bert, batch), wanted, rtol=1e-5, atol=1e-5)
    for one, tolerance in frozen:
        torch.testing.assert_close(one.first_states(batch), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["bert", "roberta", "electra"])
@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu", "silu"])
def test_frozen_is_padded_whatever_the_activation(name: str, activation: str) -> None:
    model = small_bert(name, hidden_act=activation)
    batch = random_batch([9, 20])
    with torch.no_grad():
        wanted = padded_states(model, batch)
    for packed in (True, False):
        found = FrozenBert(model, "fp32", packed=packed).all_states(batch)
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


def test_only_the_first_tokens_last_state_is_computed_and_it_is_the_same(bert: Any) -> None:
    batch = random_batch([16, 16, 5])
    frozen = FrozenBert(bert, "fp32", packed=True)
    whole = frozen.all_states(batch)[batch.offsets[:-1]]
    torch.testing.assert_close(frozen.first_states(batch), whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sharpness", [10.0, 60.0, 3000.0])
def test_bf16_attention_neither_overflows_nor_vanishes(sharpness: float) -> None:
    """Scores of hundreds, as some heads of real models have, and of thousands, for which softmax takes over."""
    model = small_bert("bert")
    for layer in model.encoder.layer:
        layer.attention.self.query.weight.data.mul_(sharpness)
    batch = random_batch([20, 33, 8])
    found = FrozenBert(model, "bf16", packed=True).all_states(batch)
    assert found.isfinite().all()
    with torch.no_grad():
        wanted = padded_states(model, batch)
    # Of so sharp an attention rounding may move single weights; most states stay near.
    assert ((found - wanted).abs() < 0.2).float().mean() > 0.8

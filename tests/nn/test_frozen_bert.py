"""A frozen backbone against its own padded forward."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from helpers.small_berts import padded_states, small_bert
from helpers.token_pairs import random_batch
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.nn import packed_bert
from cocite.nn.cpu_kernels import Dense
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
        (FrozenBert(bert, "int8", packed=True), 0.15),
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


@pytest.mark.parametrize("sharpness", [1.0, 10.0, 60.0, 3000.0])
def test_fp32_attention_keeps_its_digits_however_large_its_scores(sharpness: float) -> None:
    model = small_bert("bert")
    for layer in model.encoder.layer:
        layer.attention.self.query.weight.data.mul_(sharpness)
    batch = random_batch([20, 33, 8, 1])
    found = FrozenBert(model, "fp32", packed=False).all_states(batch)
    with torch.no_grad():
        wanted = padded_states(model, batch)
    # Scores of thousands differ by their own rounding, whoever computes them.
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 * max(1.0, sharpness / 10))


@pytest.mark.parametrize("level", [-400.0, -110.0, 0.0, 90.0, 400.0])
def test_fp32_attention_is_softmax_at_any_level_of_scores(level: float) -> None:
    """All scores of a head shifted alike: softmax does not change, powers of two would overflow or lose digits."""
    model = small_bert("bert")
    frozen = FrozenBert(model, "fp32", packed=False)
    states = torch.randn(9, 3, 4, 8, generator=torch.Generator().manual_seed(0))
    # Each key has a component that every query reads in the same way: it adds the level to each score.
    states[:, 0, :, 0], states[:, 1, :, 0] = 1.0, level
    target = torch.empty(9, 4, 8)
    frozen._attend(states, target, careful=False)
    query, key, value = states.double().permute(1, 2, 0, 3)
    weights = torch.softmax(query @ key.transpose(1, 2) * math.log(2), -1)
    torch.testing.assert_close(target.transpose(0, 1).double(), weights @ value, rtol=0, atol=1e-4)


def test_batches_of_like_sizes_need_one_compiled_product(bert: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: set[int] = set()
    computed = Dense.__call__

    def counting(self: Dense, inputs: torch.Tensor) -> torch.Tensor:
        rows.add(len(inputs))
        return computed(self, inputs)

    monkeypatch.setattr(Dense, "__call__", counting)
    frozen = FrozenBert(bert, "fp32", packed=True)
    if not frozen.layers[0].all.packed:  # type: ignore[union-attr]
        pytest.skip("torch has no oneDNN here")
    for last in range(1, 40):
        frozen.all_states(random_batch([40, last]))
    assert rows == {64, 96}

"""Packed and padded are one function: for every family, every mix of lengths, and for gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.token_pairs import random_batch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraModel,
    RobertaConfig,
    RobertaModel,
)

from cocite.nn import packed_bert
from cocite.nn.frozen_bert import FrozenBert
from cocite.text.pair_batch import PairBatch

SIZE = {
    "vocab_size": 80,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


def trunk(name: str, **options: Any) -> Any:
    torch.manual_seed(0)
    model: Any = {
        "bert": lambda: BertModel(BertConfig(**SIZE, **options)),
        "roberta": lambda: RobertaModel(RobertaConfig(**SIZE, pad_token_id=1, type_vocab_size=1, **options)),
        "electra": lambda: ElectraModel(ElectraConfig(**SIZE, embedding_size=16, **options)),
    }[name]()
    for parameter in model.parameters():  # larger weights than a new model's: attention that is not flat
        parameter.data.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def padded(model: Any, batch: PairBatch) -> Tensor:
    """(T, d) by the trunk's own forward."""
    ids, types, mask = batch.padded(model.config.pad_token_id)
    if model.config.type_vocab_size == 1:
        types = torch.zeros_like(types)
    states: Tensor = model(input_ids=ids, attention_mask=mask.long(), token_type_ids=types).last_hidden_state
    return states[mask]


@pytest.fixture(scope="module")
def bert() -> Any:
    return trunk("bert")


@pytest.mark.parametrize("name", ["bert", "roberta", "electra"])
@torch.no_grad()
def test_packed_is_padded(name: str) -> None:
    model = trunk(name)
    assert packed_bert.supports(model)
    batch = random_batch([7, 30, 12, 12, 1])
    wanted = padded(model, batch)
    torch.testing.assert_close(packed_bert.all_states(model, batch), wanted, rtol=1e-5, atol=1e-5)
    first = packed_bert.first_states(model, batch)
    torch.testing.assert_close(first, wanted[batch.offsets[:-1]], rtol=1e-5, atol=1e-5)


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
        wanted = padded(bert, batch)[batch.offsets[:-1]]
        torch.testing.assert_close(packed_bert.first_states(bert, batch), wanted, rtol=1e-5, atol=1e-5)
    for one, tolerance in frozen:
        torch.testing.assert_close(one.first_states(batch), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["bert", "roberta", "electra"])
@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu", "silu"])
def test_frozen_is_padded_whatever_the_activation(name: str, activation: str) -> None:
    model = trunk(name, hidden_act=activation)
    batch = random_batch([9, 20])
    with torch.no_grad():
        wanted = padded(model, batch)
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
    model = trunk("bert")
    for layer in model.encoder.layer:
        layer.attention.self.query.weight.data.mul_(sharpness)
    batch = random_batch([20, 33, 8])
    found = FrozenBert(model, "bf16", packed=True).all_states(batch)
    assert found.isfinite().all()
    with torch.no_grad():
        wanted = padded(model, batch)
    # Of so sharp an attention rounding may move single weights; most states stay near.
    assert ((found - wanted).abs() < 0.2).float().mean() > 0.8


def test_gradients_are_those_of_the_trunks_own_forward() -> None:
    model = trunk("bert")
    batch = random_batch([11, 4, 27])
    wanted = torch.autograd.grad(
        padded(model, batch)[batch.offsets[:-1]].square().sum(), model.encoder.layer[0].output.dense.weight
    )
    found = torch.autograd.grad(
        packed_bert.first_states(model, batch).square().sum(), model.encoder.layer[0].output.dense.weight
    )
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_checkpointed_layers_give_the_same_gradients() -> None:
    model = trunk("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0).train()
    batch = random_batch([11, 4])
    weight = model.encoder.layer[0].output.dense.weight
    wanted = torch.autograd.grad(packed_bert.first_states(model, batch).square().sum(), weight)
    model.gradient_checkpointing_enable()
    ran = []
    model.encoder.layer[0].output.dense.register_forward_hook(lambda *_: ran.append(1))
    found = torch.autograd.grad(packed_bert.first_states(model, batch).square().sum(), weight)
    assert len(ran) == 2
    torch.testing.assert_close(found, wanted)


def test_what_is_not_of_berts_family_is_not_supported() -> None:
    small = {"vocab_size": 80, "dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 64}
    assert not packed_bert.supports(DistilBertModel(DistilBertConfig(**small)))
    assert not packed_bert.supports(trunk("bert", is_decoder=True))

"""Packed and padded are one function: for every model type, every mix of lengths, and for gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.small_berts import padded_states, small_bert
from helpers.token_pairs import random_batch
from transformers import (
    DistilBertConfig,
    DistilBertModel,
)

from cocite.nn import packed_bert


@pytest.fixture(scope="module")
def bert() -> Any:
    return small_bert("bert")


@pytest.mark.parametrize("name", ["bert", "roberta", "electra"])
@torch.no_grad()
def test_packed_is_padded(name: str) -> None:
    model = small_bert(name)
    assert packed_bert.supports(model)
    batch = random_batch([7, 30, 12, 12, 1])
    wanted = padded_states(model, batch)
    torch.testing.assert_close(packed_bert.all_states(model, batch), wanted, rtol=1e-5, atol=1e-5)
    first = packed_bert.first_states(model, batch)
    torch.testing.assert_close(first, wanted[batch.offsets[:-1]], rtol=1e-5, atol=1e-5)


def test_gradients_are_those_of_the_backbones_own_forward() -> None:
    model = small_bert("bert")
    batch = random_batch([11, 4, 27])
    wanted = torch.autograd.grad(
        padded_states(model, batch)[batch.offsets[:-1]].square().sum(),
        model.encoder.layer[0].output.dense.weight,
    )
    found = torch.autograd.grad(
        packed_bert.first_states(model, batch).square().sum(), model.encoder.layer[0].output.dense.weight
    )
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_checkpointed_layers_give_the_same_gradients() -> None:
    model = small_bert("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0).train()
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
    assert not packed_bert.supports(small_bert("bert", is_decoder=True))

"""Attention without padding, as a GPU gets it: a CPU computes in the kernel's place; with a GPU the kernel itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.small_berts import padded_states, small_bert
from helpers.token_pairs import random_batch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import scaled_dot_product_attention

from cocite.nn import packed_attention, packed_bert
from cocite.nn.packed_bert import PairAttention
from cocite.nn.varlen_attention import Sequences, applies, varlen_attention

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
LENGTHS = [3, 1, 7, 5]
ALMOST_NONE = 1e-12
"""A dropout that takes the way of one and drops nothing."""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The modules take the way that they take on a GPU, at whose end a CPU computes; gives what the kernel was told."""
    calls: list[dict[str, Any]] = []

    def kernel(*given: Any) -> tuple[Tensor]:
        query, key, value, queries, keys, most_queries, most_keys, dropout, causal, _ = given
        most = (most_queries, most_keys)
        calls.append({"rows": len(query), "most": most, "dropout": dropout, "causal": causal})
        ends = zip(queries[:-1], queries[1:], keys[:-1], keys[1:], strict=True)
        parts = [
            scaled_dot_product_attention(
                *(states.transpose(0, 1) for states in (query[a:b], key[c:d], value[c:d])),
                dropout_p=dropout,
                is_causal=causal,
            ).transpose(0, 1)
            for a, b, c, d in ends
        ]
        return (torch.cat(parts),)

    for module in (packed_bert, packed_attention):
        monkeypatch.setattr(module, "applies", lambda states: True)
    monkeypatch.setattr(torch.ops.aten, "_flash_attention_forward", kernel)
    return calls


def sequences(lengths: list[int], device: str) -> Sequences:
    offsets = torch.nn.functional.pad(torch.tensor(lengths, device=device).cumsum(0), (1, 0))
    return Sequences(offsets.to(torch.int32), max(lengths))


@needs_gpu
@pytest.mark.parametrize("dropout", [0.0, ALMOST_NONE])
@pytest.mark.parametrize("first", [False, True])
def test_it_is_padded_attention_and_so_are_its_gradients(first: bool, dropout: float) -> None:
    batch = random_batch(LENGTHS)
    torch.manual_seed(0)
    shapes = [(len(LENGTHS) if first else sum(LENGTHS), 2, 8)] + 2 * [(sum(LENGTHS), 2, 8)]
    exact = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    wanted = PairAttention(batch)(*exact, dropout=0.0, first=first)
    half = [states.detach().to("cuda", torch.bfloat16).requires_grad_() for states in exact]
    found = PairAttention(batch.to(torch.device("cuda")))(*half, dropout=dropout, first=first)
    slope = torch.randn_like(wanted)
    gradients = torch.autograd.grad(wanted, exact, slope)
    reached = torch.autograd.grad(found, half, slope.to(found))
    for near, true in zip([found, *reached], [wanted, *gradients], strict=True):
        torch.testing.assert_close(near.double().cpu(), true, rtol=0.02, atol=0.02)


@needs_gpu
def test_dropout_drops_weights_and_scales_the_others_within_each_sequence() -> None:
    rate, lengths = 0.25, [40, 1, 25]
    own = sequences(lengths, "cuda")
    within = torch.cat([torch.arange(length) for length in lengths])
    # The values are unit vectors, so that what comes out is the weights themselves.
    unit = torch.eye(40, dtype=torch.bfloat16, device="cuda")[within][:, None]
    value = unit.expand(-1, 8, -1).contiguous().requires_grad_()
    flat = torch.zeros_like(value)
    torch.manual_seed(0)
    weights = varlen_attention(flat, flat, value, own, own, dropout=rate).unflatten(1, (8, 40))
    readable = torch.zeros(66, 1, 40, dtype=torch.bool, device="cuda")
    kept = []
    for start, length in zip(own.offsets.tolist(), lengths, strict=False):
        rows = weights[start : start + length].detach().double()
        readable[start : start + length, :, :length] = True
        part = rows[..., :length] * length * (1 - rate)
        assert ((part - 1).abs().minimum(part.abs()) < 0.02).all()  # each is 0, or 1 / length / (1 - rate)
        kept.append(part.flatten())
    assert not weights.detach()[~readable.expand_as(weights)].any()
    share = torch.cat(kept).mean().item()  # 17,808 draws: standard deviation .0032
    assert share == pytest.approx(1 - rate, abs=0.013)
    [gradient] = torch.autograd.grad(weights.sum(), value)
    starts = zip(own.offsets[:-1], own.offsets[1:], strict=True)
    seen = sum(weights[a:b].detach().double().sum() for a, b in starts)
    assert gradient.double().sum().item() == pytest.approx(40 * float(seen), rel=0.02)  # by the same draws


@needs_gpu
def test_a_compiled_call_takes_it_too() -> None:
    own = sequences(LENGTHS, "cuda")
    query, key, value = torch.randn(3, sum(LENGTHS), 2, 8, device="cuda", dtype=torch.bfloat16)

    def attend(value: Tensor) -> Tensor:
        return varlen_attention(query, key, value, own, own, dropout=ALMOST_NONE)

    value.requires_grad_()
    outcomes = []
    for call in (attend, torch.compile(attend)):
        states = call(value)
        outcomes.append((states, *torch.autograd.grad(states.float().square().sum(), value)))
    torch.testing.assert_close(*outcomes, rtol=0.02, atol=0.02)


def test_the_operator_of_this_torch_takes_what_it_is_given() -> None:
    with FakeTensorMode():  # tensors that say that they are on a GPU, without one
        query, key = (torch.empty(rows, 2, 8, device="cuda", dtype=torch.bfloat16) for rows in (3, 7))
        offsets = torch.empty(4, device="cuda", dtype=torch.int32)
        found = varlen_attention(query, key, key, Sequences(offsets, 1), Sequences(offsets, 5), dropout=0.1)
    assert found.shape == (3, 16)


@pytest.mark.parametrize("name", ["bert", "roberta", "electra"])
def test_a_training_backbone_with_dropout_takes_this_way_in_every_layer(
    name: str, told: list[dict[str, Any]]
) -> None:
    model = small_bert(name, hidden_dropout_prob=0.0, attention_probs_dropout_prob=ALMOST_NONE).train()
    batch = random_batch([7, 30, 12, 12, 1])
    wanted = padded_states(model.eval(), batch)
    model.train()
    torch.testing.assert_close(packed_bert.all_states(model, batch), wanted, rtol=1e-4, atol=1e-5)
    first = packed_bert.first_states(model, batch)
    torch.testing.assert_close(first, wanted[batch.offsets[:-1]], rtol=1e-4, atol=1e-5)
    assert [call["rows"] for call in told] == [62, 62, 62, 5]


def test_checkpointed_layers_draw_the_same_dropout_again(told: list[dict[str, Any]]) -> None:
    model = small_bert("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.4).train()
    batch = random_batch([11, 4])
    weight = model.encoder.layer[0].attention.self.value.weight

    def gradient() -> Any:
        torch.manual_seed(3)
        return torch.autograd.grad(packed_bert.first_states(model, batch).square().sum(), weight)

    wanted = gradient()
    model.gradient_checkpointing_enable()
    torch.testing.assert_close(gradient(), wanted)
    assert len(told) == 2 + 4
    assert [call["most"] for call in told[:2]] == [(11, 11), (1, 11)]
    assert {call["dropout"] for call in told} == {0.4}


@pytest.mark.parametrize("causal", [False, True])
def test_packed_sequences_with_dropout_take_this_way(
    told: list[dict[str, Any]], causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, _ = packed_attention.pack_by_length(torch.tensor(LENGTHS))
    torch.manual_seed(0)
    projected = torch.randn(sum(LENGTHS), 3 * 24, dtype=torch.float64, requires_grad=True)
    with monkeypatch.context() as patch:
        patch.setattr(packed_attention, "applies", lambda states: False)
        wanted = packed_attention.attention(projected, packed, 3, causal=causal)
    found = packed_attention.attention(projected, packed, 3, dropout=ALMOST_NONE, causal=causal)
    torch.testing.assert_close(found, wanted)
    assert told == [{"rows": 16, "most": (7, 7), "dropout": ALMOST_NONE, "causal": causal}]
    slope = torch.randn_like(wanted)
    gradients = [torch.autograd.grad(states, projected, slope) for states in (found, wanted)]
    torch.testing.assert_close(*gradients)


def test_it_is_for_half_precision_on_a_gpu_and_heads_of_the_kernels_widths() -> None:
    with FakeTensorMode():
        half, odd = (torch.empty(4, 2, width, device="cuda", dtype=torch.bfloat16) for width in (8, 5))
        whole = torch.empty(4, 2, 8, device="cuda")
    assert applies(half)
    assert not applies(odd)
    assert not applies(whole)
    assert not applies(torch.empty(4, 2, 8, dtype=torch.bfloat16))

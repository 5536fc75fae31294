"""Attention without padding, as a GPU gets it: on a CPU jagged tensors go through the same calls to another kernel."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.small_berts import padded_states, small_bert
from helpers.token_pairs import random_batch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nested._internal import sdpa
from torch.nn.attention import SDPBackend
from torch.nn.functional import scaled_dot_product_attention

from cocite.nn import packed_attention, packed_bert, varlen_attention
from cocite.nn.packed_bert import PairAttention
from cocite.nn.varlen_attention import Sequences, applies, jagged_attention

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
LENGTHS = [3, 1, 7, 5]
ALMOST_NONE = 1e-12
"""A dropout that takes the way of one and drops nothing."""


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The modules take the way that they take on a GPU; gives the queries that came there."""
    asked: list[Tensor] = []
    for module in (packed_bert, packed_attention):
        monkeypatch.setattr(module, "applies", lambda states, *, dropout: bool(dropout))
        monkeypatch.setattr(
            module,
            "varlen_attention",
            lambda query, *rest, **how: (
                asked.append(query) or varlen_attention.varlen_attention(query, *rest, **how)
            ),
        )
    return asked


@pytest.fixture
def flash(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """torch goes its way to the flash kernel, in whose place a CPU computes; gives what the kernel was told."""
    told: list[dict[str, Any]] = []

    def kernel(*given: Any, scale: float) -> tuple[Tensor, None, None, None, None]:
        query, key, value, queries, keys, most_queries, most_keys, dropout, causal, _ = given
        told.append({"most": (most_queries, most_keys), "dropout": dropout, "causal": causal})
        ends = zip(queries[:-1], queries[1:], keys[:-1], keys[1:], strict=True)
        parts = [
            scaled_dot_product_attention(
                *(states.transpose(0, 1) for states in (query[a:b], key[c:d], value[c:d])),
                dropout_p=dropout,
                is_causal=causal,
                scale=scale,
            ).transpose(0, 1)
            for a, b, c, d in ends
        ]
        return torch.cat(parts), None, None, None, None

    monkeypatch.setattr(sdpa, "_select_sdp_backend", lambda *_: SDPBackend.FLASH_ATTENTION)
    monkeypatch.setattr(torch.ops.aten, "_flash_attention_forward", kernel)
    return told


def sequences(lengths: list[int]) -> Sequences:
    offsets = torch.nn.functional.pad(torch.tensor(lengths).cumsum(0), (1, 0))
    return Sequences(offsets.to(torch.int32), max(lengths))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_padded_attention_and_so_are_its_gradients(first: bool, dtype: torch.dtype) -> None:
    batch = random_batch(LENGTHS)
    attend = PairAttention(batch)
    torch.manual_seed(0)
    shape = (len(LENGTHS) if first else sum(LENGTHS), 2, 8)
    query = torch.randn(shape, dtype=dtype, requires_grad=True)
    key, value = (torch.randn(sum(LENGTHS), 2, 8, dtype=dtype, requires_grad=True) for _ in range(2))
    wanted = attend(query, key, value, dropout=0.0, first=first)
    own = attend.firsts if first else attend.sequences
    found = jagged_attention(query, key, value, own, attend.sequences)
    torch.testing.assert_close(found, wanted)
    slope = torch.randn_like(wanted)
    gradients = [torch.autograd.grad(states, (query, key, value), slope) for states in (found, wanted)]
    torch.testing.assert_close(*gradients)


def test_dropout_drops_weights_and_scales_the_others_within_each_sequence() -> None:
    rate, lengths = 0.25, [40, 1, 25]
    own = sequences(lengths)
    within = torch.cat([torch.arange(length) for length in lengths])
    # The values are unit vectors, so that what comes out is the weights themselves.
    value = (
        torch.eye(40, dtype=torch.float64)[within][:, None].expand(-1, 8, -1).contiguous().requires_grad_()
    )
    flat = torch.zeros_like(value)
    torch.manual_seed(0)
    weights = jagged_attention(flat, flat, value, own, own, dropout=rate).unflatten(1, (8, 40))
    readable = within.new_zeros(66, 1, 40).bool()
    kept = []
    for start, length in zip(own.offsets.tolist(), lengths, strict=False):
        rows = weights[start : start + length]
        readable[start : start + length, :, :length] = True
        part = rows[..., :length] * length * (1 - rate)
        assert ((part - 1).abs().minimum(part.abs()) < 1e-9).all()  # each is 0, or 1 / length / (1 - rate)
        kept.append(part.flatten())
    assert not weights.detach()[~readable.expand_as(weights)].any()
    share = torch.cat(kept).mean().item()  # 17,808 draws: standard deviation .0032
    assert share == pytest.approx(1 - rate, abs=0.013)
    [gradient] = torch.autograd.grad(weights.sum(), value)
    seen = torch.cat(
        [weights[a:b].detach().sum((0, 2)) for a, b in zip(own.offsets[:-1], own.offsets[1:], strict=True)]
    )
    assert gradient.sum().item() == pytest.approx(40 * seen.sum().item())  # by the same draws


@pytest.mark.parametrize("name", ["bert", "roberta", "electra"])
def test_a_training_backbone_with_dropout_takes_this_way_in_every_layer(
    name: str, on_gpu: list[Tensor]
) -> None:
    model = small_bert(name, hidden_dropout_prob=0.0, attention_probs_dropout_prob=ALMOST_NONE).train()
    batch = random_batch([7, 30, 12, 12, 1])
    wanted = padded_states(model.eval(), batch)
    model.train()
    torch.testing.assert_close(packed_bert.all_states(model, batch), wanted, rtol=1e-4, atol=1e-5)
    first = packed_bert.first_states(model, batch)
    torch.testing.assert_close(first, wanted[batch.offsets[:-1]], rtol=1e-4, atol=1e-5)
    assert [len(query) for query in on_gpu] == [62, 62, 62, 5]


def test_checkpointed_layers_draw_the_same_dropout_again(
    on_gpu: list[Tensor], flash: list[dict[str, Any]]
) -> None:
    model = small_bert("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.4).train()
    batch = random_batch([11, 4])
    weight = model.encoder.layer[0].attention.self.value.weight

    def gradient() -> Any:
        torch.manual_seed(3)
        return torch.autograd.grad(packed_bert.first_states(model, batch).square().sum(), weight)

    wanted = gradient()
    model.gradient_checkpointing_enable()
    torch.testing.assert_close(gradient(), wanted)
    assert len(on_gpu) == len(flash) == 2 + 4
    assert [call["most"] for call in flash[:2]] == [(11, 11), (1, 11)]
    assert {call["dropout"] for call in flash} == {0.4}


@pytest.mark.parametrize("causal", [False, True])
def test_packed_sequences_with_dropout_take_this_way(
    on_gpu: list[Tensor], flash: list[dict[str, Any]], causal: bool
) -> None:
    packed, _ = packed_attention.pack_by_length(torch.tensor(LENGTHS))
    torch.manual_seed(0)
    projected = torch.randn(sum(LENGTHS), 3 * 24, dtype=torch.float64, requires_grad=True)
    wanted = packed_attention.attention(projected, packed, 3, causal=causal)
    assert not on_gpu
    found = packed_attention.attention(projected, packed, 3, dropout=ALMOST_NONE, causal=causal)
    torch.testing.assert_close(found, wanted)
    assert flash == [{"most": (7, 7), "dropout": ALMOST_NONE, "causal": causal}]
    slope = torch.randn_like(wanted)
    gradients = [torch.autograd.grad(states, projected, slope) for states in (found, wanted)]
    torch.testing.assert_close(*gradients)


def test_it_is_for_half_precision_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeTensorMode():  # tensors that say that they are on a GPU, without one
        half, whole = (
            torch.empty(4, 2, 8, device="cuda", dtype=dtype) for dtype in (torch.bfloat16, torch.float32)
        )
    for dropout in (0.0, 0.1):
        assert applies(half, dropout=dropout)
        assert not applies(whole, dropout=dropout)
        assert not applies(torch.empty(4, 2, 8, dtype=torch.bfloat16), dropout=dropout)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert [applies(half, dropout=dropout) for dropout in (0.0, 0.1)] == [True, False]

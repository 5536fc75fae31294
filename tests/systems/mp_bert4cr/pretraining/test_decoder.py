"""The decoder against the plain computation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.padded_hierarchical import padded
from torch.nn import functional

from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalSettings
from cocite.systems.mp_bert4cr.pretraining.decoder import DecoderLayer, SentenceDecoder
from cocite.systems.mp_bert4cr.pretraining.network import HiddenSentences, HierarchicalPretrainer
from cocite.text.documents import Documents

WORDS = 50


def settings(norm: str) -> HierarchicalSettings:
    return HierarchicalSettings.parse(
        {
            "sentence_layers": 1,
            "document_layers": 1,
            "hidden": 24,
            "heads": 3,
            "inner": 40,
            "dropout": 0.0,
            "norm": norm,
            "sentence_tokens": 16,
        }
    )


def batch() -> HiddenSentences:
    """Two documents of three and two sentences; the second, the first and the fifth of all are hidden."""
    rng = np.random.default_rng(0)
    lengths, told = np.array([4, 6, 3, 5, 2]), np.array([4, 7, 2])
    return HiddenSentences(
        Documents(
            torch.from_numpy(rng.integers(0, WORDS, lengths.sum())),
            torch.from_numpy(np.cumsum([0, *lengths])),
            torch.tensor([0, 3, 5]),
        ),
        torch.tensor([0, 1, 4]),
        torch.from_numpy(rng.integers(0, WORDS, told.sum())),
        torch.from_numpy(np.cumsum([0, *told])),
    )


def decoded(decoder: SentenceDecoder, words: torch.Tensor, told: torch.Tensor) -> torch.Tensor:
    """(L, d) of one sentence, in plain products."""
    before = decoder.tokens.post is False
    states = decoder.tokens(words, torch.arange(len(words)))
    size = 1 / words.shape[1] if before else 1.0
    mask = torch.ones(len(words), len(words), dtype=torch.bool).tril()
    for layer in decoder.layers:
        assert isinstance(layer, DecoderLayer)
        inside = layer.attention_norm(states) if before else states
        query, key, value = (
            part.unflatten(1, (3, -1)).transpose(0, 1) for part in layer.project(inside).chunk(3, 1)
        )
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        states = states + size * layer.output(seen.transpose(0, 1).flatten(1))
        if not before:
            states = layer.attention_norm(states)
        states = states + size * layer.context(layer.context_norm(told) if before else told)
        if not before:
            states = layer.context_norm(states)
        inside = layer.forward_norm(states) if before else states
        states = states + size * layer.narrow(functional.relu(layer.widen(inside)))
        if not before:
            states = layer.forward_norm(states)
    return decoder.norm(states)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_each_token_is_told_from_those_before_it_and_the_document(norm: str) -> None:
    torch.manual_seed(0)
    model = HierarchicalPretrainer(settings(norm), 2, WORDS, begin=7).eval()
    for parameter in model.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    given = batch()
    with torch.no_grad():
        losses, right = model(given)
        states, _ = padded(model.encoder, given.documents)
        expected, likeliest = [], []
        for number, (start, end) in zip(given.hidden, given.bounds.unfold(0, 2, 1), strict=True):
            answers = given.answers[start:end]
            before = torch.cat([torch.tensor([7]), answers[:-1]])
            logits = (
                decoded(model.decoder, model.encoder.words(before), states[number])
                @ model.encoder.words.weight.T
            )
            expected.append(functional.cross_entropy(logits, answers, reduction="none"))
            likeliest.append(logits.argmax(1) == answers)
    torch.testing.assert_close(losses, torch.cat(expected), rtol=1e-4, atol=1e-5)
    assert torch.equal(right, torch.cat(likeliest))

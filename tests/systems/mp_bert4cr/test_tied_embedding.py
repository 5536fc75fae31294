"""Tied word vectors against the softmax."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from cocite.systems.mp_bert4cr import tied_embedding
from cocite.systems.mp_bert4cr.tied_embedding import TiedEmbedding

WORDS = 50


def test_telling_words_in_pieces_is_the_softmax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tied_embedding, "CELLS", 4 * WORDS)
    torch.manual_seed(0)
    words = TiedEmbedding(WORDS, 8, 0.5).double()
    states = torch.randn(11, 8, dtype=torch.float64, requires_grad=True)
    answers = torch.randint(0, WORDS, (11,))
    found, _ = words(answers, states)
    expected = functional.cross_entropy(states @ words.weight.T, answers, reduction="none")
    torch.testing.assert_close(found, expected)
    slope = torch.rand(11, dtype=torch.float64)
    mine = torch.autograd.grad((found * slope).sum(), (states, words.weight))
    theirs = torch.autograd.grad((expected * slope).sum(), (states, words.weight))
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other)
    with torch.autocast("cpu", torch.bfloat16):
        near, _ = words.float()(answers, states.float())
    assert near.dtype == torch.float32
    torch.testing.assert_close(near.double(), expected, rtol=0.02, atol=0.02)


def test_embedding_reads_the_vectors_of_tokens() -> None:
    words, tokens = TiedEmbedding(WORDS, 8, 0.5), torch.tensor([3, 3, 41])
    assert torch.equal(words(tokens), words.weight[tokens])


def test_the_most_probable_token_is_compared_only_where_gradients_are_off() -> None:
    torch.manual_seed(0)
    words, states = TiedEmbedding(WORDS, 8, 0.5), torch.randn(20, 8)
    answers = (states @ words.weight.T).argmax(1)
    assert not words(answers, states)[1].any()
    with torch.no_grad():
        assert words(answers, states)[1].all()
        assert not words((answers + 1) % WORDS, states)[1].any()


def test_given_vectors_are_mixed_in_at_the_size_of_ones_own() -> None:
    torch.manual_seed(0)
    words = TiedEmbedding(WORDS, 400, 0.5)
    before = words.weight.detach().clone()
    given = functional.normalize(torch.randn(WORDS, 400), dim=1)
    given[7] = 0
    words.mix_in(given)
    size = before.norm(dim=1).mean()
    expected = (before + size * given) / 2**0.5
    expected[7] = before[7]
    torch.testing.assert_close(words.weight.detach(), expected)
    # Independent vectors of many dimensions are nearly orthogonal: norms stay as they were.
    assert float(words.weight.norm(dim=1).mean().detach()) == pytest.approx(float(size), rel=0.05)

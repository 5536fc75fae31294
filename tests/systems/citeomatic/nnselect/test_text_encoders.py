"""Both encoders against transcriptions in float64, and what must not change a text's vector."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.systems.citeomatic.nnselect.text_encoders import (
    ConvolutionalEncoder,
    RecurrentEncoder,
    TextEncoder,
    new_text_encoder,
)
from cocite.systems.citeomatic.word_bags import TokenBags

DIMENSION = 4
Array = NDArray[np.float64]
KINDS = ("cnn", "rnn")
LENGTHS = st.lists(st.integers(0, 7), min_size=1, max_size=6)


def encoder_of(kind: str, window: int = 3, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    made = new_text_encoder(kind, DIMENSION, window)  # type: ignore[arg-type]
    assert isinstance(made, nn.Module)
    for parameter in made.parameters():
        nn.init.uniform_(parameter, -1, 1)
    return made.double()


def texts_of(lengths: list[int]) -> TokenBags:
    offsets = torch.tensor([0, *accumulate(lengths)])
    return TokenBags(torch.zeros(int(offsets[-1]), dtype=torch.int64), offsets)


def words_of(lengths: list[int], seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(sum(lengths), DIMENSION, generator=generator, dtype=torch.float64)


def parts(words: Tensor, lengths: list[int]) -> list[Array]:
    return [part.numpy() for part in words.split(lengths)]


def convolved(encoder: ConvolutionalEncoder, text: Array) -> Array:
    """The formula of the class, one position and one word after the other."""
    weight, bias = (p.detach().numpy() for p in (encoder.convolution.weight, encoder.convolution.bias))
    window = weight.shape[2]
    best = np.full(DIMENSION, -np.inf)
    for t in range(len(text)):
        total = bias.copy()
        for k in range(window):
            at = t + k - window // 2
            if 0 <= at < len(text):
                total = total + weight[:, :, k] @ text[at]
        best = np.maximum(best, np.tanh(total))
    return best if len(text) else np.zeros(DIMENSION)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def recurrent(encoder: RecurrentEncoder, text: Array) -> Array:
    """The equations of a GRU in both directions, one word after the other."""
    parameters = {name: p.detach().numpy() for name, p in encoder.recurrence.named_parameters()}

    def largest(text: Array, ending: str) -> Array:
        w_in, w_state = parameters["weight_ih_l0" + ending], parameters["weight_hh_l0" + ending]
        b_in, b_state = parameters["bias_ih_l0" + ending], parameters["bias_hh_l0" + ending]
        state = np.zeros(DIMENSION // 2)
        best = np.full(DIMENSION // 2, -np.inf)
        for word in text:
            r_in, z_in, n_in = np.split(w_in @ word + b_in, 3)
            r_state, z_state, n_state = np.split(w_state @ state + b_state, 3)
            r, z = sigmoid(r_in + r_state), sigmoid(z_in + z_state)
            state = (1 - z) * np.tanh(n_in + r * n_state) + z * state
            best = np.maximum(best, state)
        return best

    if not len(text):
        return np.zeros(DIMENSION)
    return np.concatenate([largest(text, ""), largest(text[::-1], "_reverse")])


@settings(deadline=None)
@given(LENGTHS, st.sampled_from([1, 3, 5]), st.integers(0, 5))
def test_the_convolution_is_its_formula(lengths: list[int], window: int, seed: int) -> None:
    encoder = encoder_of("cnn", window, seed)
    assert isinstance(encoder, ConvolutionalEncoder)
    words = words_of(lengths)
    expected = np.stack([convolved(encoder, text) for text in parts(words, lengths)])
    assert encoder(words, texts_of(lengths)).detach().numpy() == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(LENGTHS, st.integers(0, 5))
def test_the_recurrence_is_its_equations(lengths: list[int], seed: int) -> None:
    encoder = encoder_of("rnn", seed=seed)
    assert isinstance(encoder, RecurrentEncoder)
    words = words_of(lengths)
    expected = np.stack([recurrent(encoder, text) for text in parts(words, lengths)])
    assert encoder(words, texts_of(lengths)).detach().numpy() == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(st.sampled_from(KINDS), LENGTHS, st.randoms(use_true_random=False))
def test_other_texts_and_their_order_change_no_vector(kind: str, lengths: list[int], random: object) -> None:
    encoder, words = encoder_of(kind), words_of(lengths)
    together = encoder(words, texts_of(lengths))
    alone = [encoder(text, texts_of([len(text)]))[0] for text in words.split(lengths)]
    torch.testing.assert_close(together, torch.stack(alone), rtol=0, atol=1e-12)
    order = list(range(len(lengths)))
    random.shuffle(order)  # type: ignore[attr-defined]
    texts = words.split(lengths)
    mixed = encoder(torch.cat([texts[i] for i in order]), texts_of([lengths[i] for i in order]))
    torch.testing.assert_close(mixed, together[order], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [[3, 0, 1, 4], [1], [2, 2]])
def test_gradients_are_those_of_differences(kind: str, lengths: list[int]) -> None:
    encoder, texts = encoder_of(kind), texts_of(lengths)
    words = words_of(lengths).requires_grad_()
    names, values = zip(*encoder.named_parameters(), strict=True)

    def forward(words: Tensor, *values: Tensor) -> Tensor:
        return torch.func.functional_call(encoder, dict(zip(names, values, strict=True)), (words, texts))

    assert torch.autograd.gradcheck(forward, (words, *values))


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_words_counts(kind: str) -> None:
    encoder, words = encoder_of(kind), words_of([5])
    one, other = (encoder(words[order], texts_of([5])) for order in ([0, 1, 2, 3, 4], [3, 1, 4, 0, 2]))
    assert (one - other).abs().max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_texts_without_words_are_zero(kind: str) -> None:
    encoder = encoder_of(kind)
    assert encoder(words_of([0, 0]), texts_of([0, 0])).tolist() == [[0.0] * DIMENSION] * 2


def test_operations_are_counted_from_the_weights() -> None:
    multiplications = {
        kind: made.multiplications
        for kind in KINDS
        if isinstance(made := encoder_of(kind), ConvolutionalEncoder | RecurrentEncoder)
    }
    assert multiplications == {"cnn": 3 * 4 * 4, "rnn": 2 * 3 * 2 * (4 + 2)}
    checked: TextEncoder = RecurrentEncoder(2)
    assert checked.multiplications == 2 * 3 * 1 * (2 + 1)


def test_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="a window of 2 words has no middle"):
        ConvolutionalEncoder(4, window=2)
    with pytest.raises(ValueError, match="5 dimensions are not two halves"):
        RecurrentEncoder(5)

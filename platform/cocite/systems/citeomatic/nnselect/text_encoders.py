"""A text's word vectors as one vector, in the order of the words: by a convolution, or by a recurrent network.

Citeomatic (section 5) names both beside the sum of Eq. 1, and gives no equation of either. Both take the maximum over
the positions of a text, and both read texts without padding: no text changes another one's vector.
"""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from cocite.systems.citeomatic.word_bags import TokenBags

TextEncoderKind = Literal["bag", "cnn", "rnn"]
"""``bag``: the sum of the distinct words' vectors (Eq. 1); ``cnn``, ``rnn``: what this module has."""
MOST_WINDOW = 15
Window = Annotated[int, Field(ge=1, le=MOST_WINDOW)]
"""Words that a position of a convolution may see."""


class TextEncoder(Protocol):
    """Vectors of texts, from those of their words.

    Example:
        >>> encoder: TextEncoder = ConvolutionalEncoder(4, window=3)
        >>> texts = TokenBags(torch.tensor([1, 2, 1]), torch.tensor([0, 2, 2, 3]))
        >>> vectors = encoder(torch.randn(3, 4), texts)
        >>> tuple(vectors.shape), vectors[1].tolist()  # the second text has no word
        ((3, 4), [0.0, 0.0, 0.0, 0.0])
    """

    def __call__(self, vectors: Tensor, texts: TokenBags) -> Tensor:
        """(n, d) vectors of n texts.

        Args:
            vectors: (T, d) of each word of each text, text after text.
            texts: where each text begins and ends.
        """
        ...

    @property
    def multiplications(self) -> int:
        """Multiplications and additions of one word, forward."""
        ...


class ConvolutionalEncoder(nn.Module):
    """max over positions t of tanh(b + sum over k of W_k x(t + k)), with x = 0 before and after a text.

    Args:
        dimension: d, of the word vectors and of the texts.
        window: how many words a position sees, an odd number.

    Example:
        >>> encoder = ConvolutionalEncoder(2, window=1)  # each word by itself
        >>> encoder.convolution.weight.data[:, :, 0] = torch.eye(2)
        >>> encoder.convolution.bias.data[:] = 0
        >>> texts = TokenBags(torch.tensor([0, 1]), torch.tensor([0, 2]))
        >>> encoder(torch.tensor([[-9.0, 0.0], [0.0, 9.0]]), texts).round(decimals=3).tolist()
        [[0.0, 1.0]]
    """

    def __init__(self, dimension: int, *, window: int) -> None:
        super().__init__()
        if window % 2 == 0:
            raise ValueError(f"a window of {window} words has no middle")
        self.convolution = nn.Conv1d(dimension, dimension, window, padding=window // 2)

    @property
    def multiplications(self) -> int:
        """As :class:`TextEncoder` has it."""
        return self.convolution.weight.numel()

    def forward(self, vectors: Tensor, texts: TokenBags) -> Tensor:
        """As :class:`TextEncoder` has it."""
        if not len(vectors):
            return vectors.new_zeros(len(texts.offsets) - 1, vectors.shape[1])
        gap = self.convolution.padding[0]
        assert isinstance(gap, int)
        # One convolution over all texts: zeros between two of them keep each from seeing the other.
        place = torch.arange(len(vectors), device=vectors.device) + gap * texts.owners()
        line = vectors.new_zeros(int(place[-1]) + 1, vectors.shape[1]).index_copy(0, place, vectors)
        convolved = self.convolution(line.T[None])[0].T[place]  # (T, d)
        return _largest(torch.tanh(convolved.to(vectors.dtype)), texts)


class RecurrentEncoder(nn.Module):
    """max over positions of the states of a GRU that reads forwards, and of one that reads backwards.

    Args:
        dimension: d, of the word vectors and of the texts: half of it are the states of each direction.

    Example:
        >>> encoder = RecurrentEncoder(4)
        >>> texts = TokenBags(torch.tensor([0, 1, 2]), torch.tensor([0, 2, 3]))
        >>> forwards = encoder(torch.eye(4)[:3], texts)
        >>> backwards = encoder(torch.eye(4)[[1, 0, 2]], texts)
        >>> bool(torch.allclose(forwards[0], backwards[0])), bool(torch.allclose(forwards[1], backwards[1]))
        (False, True)
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        if dimension % 2:
            raise ValueError(f"{dimension} dimensions are not two halves")
        self.recurrence = nn.GRU(dimension, dimension // 2, bidirectional=True)

    @property
    def multiplications(self) -> int:
        """As :class:`TextEncoder` has it."""
        return sum(weight.numel() for name, weight in self.recurrence.named_parameters() if "weight" in name)

    def forward(self, vectors: Tensor, texts: TokenBags) -> Tensor:
        """As :class:`TextEncoder` has it."""
        if not len(vectors):
            return vectors.new_zeros(len(texts.offsets) - 1, vectors.shape[1])
        owner, lengths = texts.owners(), texts.offsets.diff()
        position = torch.arange(len(vectors), device=vectors.device) - texts.offsets[owner]
        # A packed sequence has the first words of all texts, then the second ones: longer texts come first in each.
        rank = torch.empty_like(lengths)
        rank[lengths.argsort(descending=True, stable=True)] = torch.arange(
            len(lengths), device=lengths.device
        )
        order = (position * len(lengths) + rank[owner]).argsort()
        sizes = position.bincount().cpu()  # of how many texts there is a word at each position
        states, _ = self.recurrence(PackedSequence(vectors[order], sizes))
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device=order.device)
        return _largest(states.data.to(vectors.dtype)[back], texts)


def new_text_encoder(kind: TextEncoderKind, dimension: int, window: int) -> TextEncoder | None:
    """The encoder of a kind, untrained; None for bags of words, which have no order.

    Example:
        >>> new_text_encoder("bag", 8, 3), type(new_text_encoder("rnn", 8, 3)).__name__
        (None, 'RecurrentEncoder')
    """
    if kind == "bag":
        return None
    return ConvolutionalEncoder(dimension, window=window) if kind == "cnn" else RecurrentEncoder(dimension)


def _largest(values: Tensor, texts: TokenBags) -> Tensor:
    """(n, d) maximum of each text's values (T, d); zero for a text without words."""
    lengths = texts.offsets.diff()
    pooled = torch.segment_reduce(values, "max", lengths=lengths, axis=0)
    return torch.where(
        lengths[:, None] > 0, pooled, torch.zeros((), dtype=values.dtype, device=values.device)
    )

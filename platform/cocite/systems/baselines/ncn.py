"""NCN as a baseline (Ebesu and Fang 2017, "Neural Citation Network for Context-Aware Citation Recommendation").

HAtten's Table 3 has it. A time-delay network (convolutions with a maximum over the places) encodes the context and the
authors of the citing and of the cited paper; a recurrent network with attention over these encodings reads the cited
title word by word. A candidate's score is the logarithm of the probability of its title.

HAtten's text, which is what we follow, names the encoder and decoder and no more. The sizes here, one layer of GRU, the
attention's form (Bahdanau, Cho and Bengio 2015) and what the decoder begins with are the choice of this implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from cocite.bounds import (
    BatchSize,
    Dimension,
    Epochs,
    GradientNorm,
    LearningRate,
    ProperShare,
    TextLength,
    Total,
)
from cocite.config import Settings
from cocite.systems.baselines.filters import PADDING, FilterWidth, MaxFilters
from cocite.text.paragraphs import GAP, OTHER

BEGIN, END = GAP, OTHER
"""Numbers of the marks around a title, which holds neither the gap nor another citation."""


class NcnSettings(Settings):
    """The network, and how it is trained.

    Example:
        >>> NcnSettings(dimension=64).widths
        (3, 4, 5)
    """

    dimension: Dimension = 128
    """Components of the vectors of words and authors."""
    channels: Dimension = 64
    """Components of an encoding, and of the decoder's state."""
    widths: tuple[FilterWidth, ...] = Field((3, 4, 5), min_length=1, max_length=16)
    """Words that the filters over a context read at once."""
    author_widths: tuple[FilterWidth, ...] = Field((1, 2), min_length=1, max_length=16)
    """Authors that the filters over a list of authors read at once."""
    vocabulary: Total = 20_000
    """Most words that are told apart: those in the most texts."""
    authors: Total = 20_000
    """Most authors that are told apart: those of the most papers."""
    words: TextLength = 60
    """Words read of a context, those around its gap."""
    title: TextLength = 20
    """Words read of a title."""
    people: TextLength = 5
    """Authors read of a paper, the first ones."""
    dropout: ProperShare = 0.2
    """Of the encodings and of the decoder's state."""
    epochs: Epochs = 5
    """Passes over the pairs of context and cited paper."""
    batch: BatchSize = 64
    """Pairs of a step."""
    learning_rate: LearningRate = 0.001
    """Learning rate of Adam."""
    clip: GradientNorm = 5.0
    """Norm that the gradient is clipped to; 0: never."""


@dataclass(frozen=True)
class NcnPairs:
    """A batch of pairs of a context and a paper: numbers, padded with ``PADDING`` at the end.

    Attributes:
        context: (b, w) words.
        citing: (b, a) authors of the citing paper.
        cited: (b, a) authors of the paper.
        title: (b, t) words of its title, without marks.

    Example:
        >>> one = torch.tensor([[4, 7, PADDING]])
        >>> NcnPairs(context=one, citing=one, cited=one, title=one).title.shape
        torch.Size([1, 3])
    """

    context: Tensor
    citing: Tensor
    cited: Tensor
    title: Tensor


class TimeDelay(MaxFilters):
    """For each width the maximum over the places of a rectified convolution, then a layer with tanh.

    Args:
        numbers: of words or authors.
        dimension: of their vectors.
        channels: of an encoding.
        widths: of the filters.

    Example:
        >>> TimeDelay(10, 4, 6, (1, 2))(torch.tensor([[3, 4, 5], [3, PADDING, PADDING]])).shape  # (b, widths, channels)
        torch.Size([2, 2, 6])
    """

    def __init__(self, numbers: int, dimension: int, channels: int, widths: Sequence[int]) -> None:
        super().__init__(numbers, dimension, channels, widths)
        self.layer = nn.Linear(channels, channels)

    def forward(self, numbers: Tensor) -> Tensor:
        """(b, n) numbers to (b, widths, channels)."""
        encoded: Tensor = self.layer(super().forward(numbers)).tanh()
        return encoded


class Ncn(nn.Module):
    """The logarithm of the probability of a cited title, given a context and the authors of both papers.

    Args:
        words: numbers of words.
        authors: numbers of authors.
        settings: sizes.

    Example:
        >>> network = Ncn(words=10, authors=5, settings=NcnSettings(dimension=8, channels=6))
        >>> one, two = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 2]])
        >>> network(NcnPairs(one, two, two, one)).shape
        torch.Size([1])
    """

    def __init__(self, words: int, authors: int, settings: NcnSettings) -> None:
        super().__init__()
        dimension, channels = settings.dimension, settings.channels
        self.context = TimeDelay(words, dimension, channels, settings.widths)
        self.citing = TimeDelay(authors, dimension, channels, settings.author_widths)
        self.cited = TimeDelay(authors, dimension, channels, settings.author_widths)
        self.titles = nn.Embedding(words, dimension)
        self.begin = nn.Linear(channels, channels)
        self.keys = nn.Linear(channels, channels)
        self.asks = nn.Linear(channels, channels, bias=False)
        self.weights = nn.Linear(channels, 1, bias=False)
        self.cell = nn.GRUCell(dimension + channels, channels)
        self.words = nn.Linear(2 * channels, words)
        self.dropout = nn.Dropout(settings.dropout)

    def encode(self, pairs: NcnPairs) -> Tensor:
        """(b, s, channels) the encodings that the decoder attends to, of the context and of both lists of authors."""
        parts = [self.context(pairs.context), self.citing(pairs.citing), self.cited(pairs.cited)]
        encodings: Tensor = self.dropout(torch.cat(parts, dim=1))
        return encodings

    def forward(self, pairs: NcnPairs) -> Tensor:
        """(b,) log p(title | context, authors): the sum over its words and the mark of its end."""
        encodings = self.encode(pairs)
        keys, state = self.keys(encodings), self.begin(encodings.mean(1)).tanh()
        lengths = (pairs.title != PADDING).sum(1)
        places = torch.arange(pairs.title.shape[1] + 1)
        # What each step is to say: the words, then the end. What it reads: the mark of the beginning, then the words.
        wanted = functional.pad(pairs.title, (0, 1), value=PADDING)
        wanted = torch.where(places == lengths[:, None], END, wanted)
        read = functional.pad(wanted[:, :-1], (1, 0), value=BEGIN)
        total = encodings.new_zeros(len(encodings))
        for step in range(wanted.shape[1]):
            share = self.weights(torch.tanh(keys + self.asks(state)[:, None])).softmax(1)  # (b, s, 1)
            seen = (share * encodings).sum(1)
            word = self.titles(read[:, step].clamp(min=0))
            state = self.cell(torch.cat([word, seen], dim=1), state)
            logits = self.words(self.dropout(torch.cat([state, seen], dim=1)))
            target = wanted[:, step]
            total = total - functional.cross_entropy(
                logits, torch.where(target == PADDING, -100, target), ignore_index=-100, reduction="none"
            )
        return total

"""DualCon and DualEnh as baselines (Medić and Šnajder 2020, "Improved Local Citation Recommendation Based on Context
Enhanced with Global Information").

HAtten's Table 3 has them. One bidirectional LSTM reads contexts and papers. The vector of a context is an attention
over its words that asks with the gap's state; DualEnh adds to it an attention over the citing paper's title and
abstract that asks with the context's vector, and DualCon has the context alone. The vector of a candidate is an
attention over its title and abstract that asks with the context's vector. A candidate's score is a sum of two, whose
weights are read from the context: the cosine of both vectors (semantic), and a network over the candidate's authors and
its citations by year (bibliographic). The loss is a triplet loss over papers drawn at random.

HAtten's text says that both scores are used, and no more. The form of each layer, the margin, the size of what is read
of authors, and the draw of negatives, none of which is later than the citing paper, are those of the program that the
authors published (DualLCR). Ours are: counts of citations as logarithms, and of the years before the citing paper's
alone (:mod:`cocite.systems.baselines.citation_years`; theirs count the citing year too); the width of the LSTM (theirs
is 100) and of the attentions; negatives that all pairs of a batch share; word vectors that begin as Word2Vec's of the
training period's contexts; no stop words; and one pass in place of the best of ten by dev.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from cocite.bounds import (
    BatchSize,
    Dimension,
    Epochs,
    Factor,
    LearningRate,
    PositiveFactor,
    PositiveSmallCount,
    TextLength,
    Total,
)
from cocite.config import Settings
from cocite.systems.baselines.citing_pairs import table
from cocite.systems.baselines.filters import PADDING, FilterWidth, MaxFilters


class DualSettings(Settings):
    """The network, and how it is trained.

    Example:
        >>> DualSettings(hidden=100).margin
        0.3
    """

    start: PositiveFactor = 1.0
    """Mean length that Word2Vec's vectors are scaled to."""
    hidden: Dimension = 64
    """Components of the LSTM's state in each direction."""
    attention: Dimension = 64
    """Components of the layer of an attention."""
    bibliographic: bool = True
    """Whether authors and citations count; without them the score is the cosine alone."""
    author_dimension: Dimension = 50
    """Components of the vectors of authors."""
    channels: Dimension = 50
    """Components of each filter's encoding of the authors."""
    author_widths: tuple[FilterWidth, ...] = Field((1, 2), min_length=1, max_length=16)
    """Authors that the filters read at once."""
    authors: Total = 20_000
    """Most authors that are told apart: those of the most papers."""
    people: TextLength = 5
    """Authors read of a paper, the first ones."""
    years: PositiveSmallCount = 4
    """Years before the citing paper's whose citations are counted apart."""
    words: TextLength = 60
    """Words read of a context, those around its gap."""
    paper: TextLength = 80
    """Words read of a title and abstract together, the first ones."""
    negatives: PositiveSmallCount = 50
    """Papers drawn for a batch, negatives of all its pairs."""
    margin: Factor = 0.3
    """By which the score of the cited paper is to be above that of a negative."""
    epochs: Epochs = 1
    """Passes over the pairs of context and cited paper."""
    batch: BatchSize = 64
    """Pairs of a step."""
    learning_rate: LearningRate = 0.001
    """Learning rate of Adam."""


class AdditiveAttention(nn.Module):
    """A mean of states weighted by v·tanh(W [query; state]), with a softmax over the states of a text.

    Args:
        states: components of queries and of states.
        width: of the layer.

    Example:
        >>> inside = torch.tensor([[True, True, False]])
        >>> AdditiveAttention(4, 5)(torch.zeros(1, 7, 4), torch.ones(1, 3, 4), inside)[0, 6].tolist()
        [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, states: int, width: int) -> None:
        super().__init__()
        self.asks = nn.Linear(states, width, bias=False)
        self.keys = nn.Linear(states, width, bias=False)
        self.weights = nn.Linear(width, 1, bias=False)

    def forward(self, queries: Tensor, states: Tensor, inside: Tensor) -> Tensor:
        """(m, q, s) what each of q queries reads of each of m texts.

        Args:
            queries: (m, q, s), or (1, q, s) where all texts are asked the same.
            states: (m, t, s) of texts.
            inside: (m, t) where a text has words; each has one at least.
        """
        seen = torch.tanh(self.asks(queries)[:, :, None] + self.keys(states)[:, None])  # (m, q, t, width)
        scores = self.weights(seen).squeeze(3).masked_fill(~inside[:, None], -torch.inf)
        read: Tensor = scores.softmax(2) @ states
        return read


@dataclass(frozen=True)
class ReadPapers:
    """Candidates as the network reads them.

    Attributes:
        states: (m, t, 2 h) of the words of title and abstract.
        inside: (m, t) where a paper has words.
        authors: (m, a) encodings; (m, 0) without bibliographic score.

    Example:
        >>> papers = ReadPapers(torch.zeros(3, 7, 4), torch.ones(3, 7, dtype=torch.bool), torch.zeros(3, 2))
        >>> papers.take(torch.tensor([2, 0])).states.shape
        torch.Size([2, 7, 4])
    """

    states: Tensor
    inside: Tensor
    authors: Tensor

    def take(self, places: Tensor) -> ReadPapers:
        """Those at some places (n,), in their order."""
        return ReadPapers(self.states[places], self.inside[places], self.authors[places])


class Dual(nn.Module):
    """The score of a candidate for a context.

    Args:
        words: (W, d) vectors that words begin with.
        authors: numbers of authors.
        settings: sizes.
        enhanced: whether the citing paper's title and abstract are read: DualEnh.

    Example:
        >>> settings = DualSettings(hidden=6, attention=4, years=2)
        >>> network = Dual(np.eye(9, 4, dtype=np.float32), authors=5, settings=settings, enhanced=False)
        >>> texts, people = torch.tensor([[3, 4, 5], [6, PADDING, PADDING]]), torch.tensor([[1, 2], [0, PADDING]])
        >>> contexts = network.contexts(texts, torch.tensor([1, 0]))
        >>> network(contexts[None], network.papers(texts, people), torch.zeros(2, 2, 3)).shape  # (papers, contexts)
        torch.Size([2, 2])
    """

    def __init__(
        self, words: NDArray[np.float32], authors: int, settings: DualSettings, *, enhanced: bool
    ) -> None:
        super().__init__()
        states = 2 * settings.hidden
        self.words = table(words, settings.start)
        # Two of one direction each, as one of both has to be packed, which takes almost twice the time on a CPU.
        self.ahead = nn.LSTM(words.shape[1], settings.hidden, batch_first=True)
        self.back = nn.LSTM(words.shape[1], settings.hidden, batch_first=True)
        self.of_context = AdditiveAttention(states, settings.attention)
        self.of_citing = AdditiveAttention(states, settings.attention) if enhanced else None
        self.of_paper = AdditiveAttention(states, settings.attention)
        self.authors: MaxFilters | None = None
        if settings.bibliographic:
            self.authors = MaxFilters(
                authors, settings.author_dimension, settings.channels, settings.author_widths
            )
            width = settings.channels * len(settings.author_widths) + settings.years + 1
            self.inner = nn.Linear(width, width // 2)
            self.outer = nn.Linear(width // 2, 1)
            self.shares = nn.Linear(states, 2)

    def read(self, texts: Tensor) -> tuple[Tensor, Tensor]:
        """(n, t, 2 h) states of texts (n, t) of word numbers, of at least one word each, and (n, t) where they are."""
        inside = texts != PADDING
        vectors = self.words(texts.clamp(min=0))
        # The place that each place of a text has when it is read from its end; behind the end any place.
        mirrored = (inside.sum(1, keepdim=True) - 1 - torch.arange(texts.shape[1])).clamp(min=0)[..., None]
        back, _ = self.back(vectors.gather(1, mirrored.expand_as(vectors)))
        states = torch.cat([self.ahead(vectors)[0], back.gather(1, mirrored.expand_as(back))], dim=2)
        return states, inside

    def contexts(self, texts: Tensor, gaps: Tensor, citing: Tensor | None = None) -> Tensor:
        """(n, 2 h) vectors of contexts.

        Args:
            texts: (n, t) word numbers.
            gaps: (n,) places of the gaps among them.
            citing: (n, u) those of the citing papers, which DualEnh reads.
        """
        states, inside = self.read(texts)
        gap = states[torch.arange(len(gaps)), gaps]
        vectors: Tensor = self.of_context(gap[:, None], states, inside)  # (n, 1, 2 h)
        if self.of_citing is not None and citing is not None:
            vectors = vectors + self.of_citing(vectors, *self.read(citing))
        return vectors[:, 0]

    def papers(self, texts: Tensor, authors: Tensor) -> ReadPapers:
        """Read candidates: word numbers (m, t) of title and abstract, and numbers of authors (m, a)."""
        states, inside = self.read(texts)
        encoded = (
            states.new_zeros(len(texts), 0) if self.authors is None else self.authors(authors).flatten(1)
        )
        return ReadPapers(states, inside, encoded)

    def forward(self, contexts: Tensor, papers: ReadPapers, citations: Tensor) -> Tensor:
        """(m, q) the score of each of m papers for each of q contexts.

        Args:
            contexts: (m, q, 2 h) vectors, or (1, q, 2 h) where all papers are asked the same.
            papers: the candidates.
            citations: (m, q, years + 1) of the papers, for the contexts' years.
        """
        read = self.of_paper(contexts, papers.states, papers.inside)
        semantic = functional.cosine_similarity(contexts, read, dim=2)
        if self.authors is None:
            return semantic
        people = papers.authors[:, None].expand(-1, citations.shape[1], -1)
        hidden = torch.sigmoid(self.inner(torch.cat([people, citations], dim=2)))
        bibliographic = torch.sigmoid(self.outer(hidden)).squeeze(2)
        shares = torch.sigmoid(self.shares(contexts)).softmax(2)
        return shares[..., 0] * semantic + shares[..., 1] * bibliographic


def triplet_loss(cited: Tensor, negatives: Tensor, valid: Tensor, margin: float) -> Tensor:
    """The mean of max(0, margin - cited + negative) over the valid triplets; 0 where there is none.

    Args:
        cited: (q,) scores of the papers that are cited.
        negatives: (m, q) scores of others.
        valid: (m, q) where one is a negative of the context.
        margin: by which the cited one is to be above.

    Example:
        >>> valid = torch.tensor([[True], [False]])
        >>> triplet_loss(torch.tensor([0.5]), torch.tensor([[0.4], [0.9]]), valid, margin=0.3).item()
        0.20000001788139343
    """
    costs = (margin - cited + negatives).relu() * valid
    return costs.sum() / valid.sum().clamp(min=1)

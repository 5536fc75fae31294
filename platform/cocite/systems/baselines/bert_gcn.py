"""BERT-GCN as a baseline (Jeong, Jang, Park and Choi 2020, "A context-aware citation recommendation model with BERT and
graph convolutional networks", Scientometrics 124).

HAtten's Table 3 has it. A transformer encodes the context, a variational graph auto-encoder of the citations the citing
paper (:mod:`cocite.systems.baselines.graph_autoencoder`); a softmax over the cited papers reads both, one behind the
other. So it can rank only papers that the training period cites.

HAtten's text says that embeddings of the graph and of the context are fed into a network, and no more; the form is that
of the program that the authors published. Ours differ:

- The transformer is a small one, trained here from Word2Vec's vectors, in BERT's place. It reads the words around the
  gap behind a first vector, whose state is the context's; it is told which words are behind the gap.
- Theirs gives the graph's vertices no features and trains it with the links of test papers. Ours has the training
  period's links alone, and reads a citing paper by its title and abstract, as if it had no link: a draft has none, and
  in training its links would tell what is asked.
- The weights of a cited paper begin as Word2Vec's vector of it, and any paper that is cited has a class: the authors
  leave out those that fewer than five papers cite.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.bounds import (
    BatchSize,
    Dimension,
    Epochs,
    Heads,
    LearningRate,
    PositiveFactor,
    PositiveSmallCount,
    ProperShare,
    TextLength,
)
from cocite.config import Settings
from cocite.systems.baselines.citing_pairs import table
from cocite.systems.baselines.filters import PADDING
from cocite.systems.baselines.graph_autoencoder import GraphAutoEncoder


class BertGcnSettings(Settings):
    """The network, and how it is trained.

    Example:
        >>> BertGcnSettings(layers=6).heads
        4
    """

    start: PositiveFactor = 1.0
    """Mean length that Word2Vec's vectors are scaled to."""
    layers: PositiveSmallCount = 2
    """Layers of the transformer; it is as wide as Word2Vec's vectors."""
    heads: Heads = 4
    """Heads of a layer."""
    inner: Dimension = 200
    """Components of a layer's inner part."""
    words: TextLength = 40
    """Words read of a context, those around its gap."""
    dropout: ProperShare = 0.1
    """Of the transformer, and of what the softmax reads."""
    graph_hidden: Dimension = 64
    """Components of the first graph convolution."""
    graph: Dimension = 32
    """Components of the graph's vectors."""
    graph_epochs: Epochs = 200
    """Passes over the links."""
    graph_learning_rate: LearningRate = 0.01
    """Learning rate of Adam there."""
    epochs: Epochs = 4
    """Passes over the pairs of context and cited paper."""
    batch: BatchSize = 64
    """Pairs of a step."""
    learning_rate: LearningRate = 0.001
    """Learning rate of Adam."""


class BertGcn(nn.Module):
    """Logits of the cited papers for contexts.

    Args:
        words: (W, d) vectors that words begin with.
        classes: (C, d) vectors that cited papers begin with.
        settings: sizes.

    Example:
        >>> settings = BertGcnSettings(heads=2, inner=8, graph_hidden=4, graph=3, words=5)
        >>> network = BertGcn(np.eye(9, 4, dtype=np.float32), np.eye(6, 4, dtype=np.float32), settings).eval()
        >>> texts = torch.tensor([[3, 4, 5], [6, PADDING, PADDING]])
        >>> network(texts, torch.tensor([1, 0]), torch.ones(2, 4)).shape
        torch.Size([2, 6])
    """

    def __init__(
        self, words: NDArray[np.float32], classes: NDArray[np.float32], settings: BertGcnSettings
    ) -> None:
        super().__init__()
        width = words.shape[1]
        self.words = table(words, settings.start)
        self.positions = nn.Embedding(settings.words + 1, width)
        self.sides = nn.Embedding(2, width)
        nn.init.normal_(self.positions.weight, std=0.02)
        nn.init.normal_(self.sides.weight, std=0.02)
        self.first = nn.Parameter(torch.randn(width) * 0.02)
        self.norm = nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(
            width, settings.heads, settings.inner, settings.dropout, activation="gelu", batch_first=True
        )
        self.transformer = nn.TransformerEncoder(layer, settings.layers, enable_nested_tensor=False)
        self.pool = nn.Linear(width, width)
        self.graph = GraphAutoEncoder(width, settings.graph_hidden, settings.graph).requires_grad_(False)
        self.dropout = nn.Dropout(settings.dropout)
        self.classes = nn.Linear(width + settings.graph, len(classes))
        nn.init.zeros_(self.classes.bias)
        with torch.no_grad():
            self.classes.weight[:, :width] = table(classes, settings.start).weight

    def contexts(self, texts: Tensor, gaps: Tensor) -> Tensor:
        """(n, d) vectors of contexts: (n, t) word numbers, and (n,) the places of the gaps among them."""
        places = torch.arange(texts.shape[1])
        read = self.words(texts.clamp(min=0)) + self.sides((places > gaps[:, None]).long())
        first = self.first.expand(len(texts), 1, -1)
        read = self.norm(torch.cat([first, read], dim=1) + self.positions(torch.arange(texts.shape[1] + 1)))
        outside = torch.cat([torch.zeros(len(texts), 1, dtype=torch.bool), texts == PADDING], dim=1)
        states = self.transformer(self.dropout(read), src_key_padding_mask=outside)
        pooled: Tensor = self.pool(states[:, 0]).tanh()
        return pooled

    def forward(self, texts: Tensor, gaps: Tensor, citing: Tensor) -> Tensor:
        """(n, C) logits.

        Args:
            texts: (n, t) word numbers of contexts.
            gaps: (n,) places of the gaps among them.
            citing: (n, d) what is known of the citing papers' texts.
        """
        mean, _ = self.graph(citing, None)
        logits: Tensor = self.classes(self.dropout(torch.cat([self.contexts(texts, gaps), mean], dim=1)))
        return logits

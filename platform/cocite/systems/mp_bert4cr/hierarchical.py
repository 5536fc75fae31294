"""The hierarchical transformer of MP-BERT4CR: tokens to sentence vectors, sentence vectors to document vectors.

HIBERT (Zhang, Wei, Zhou 2019, section 3.1) with the mean of a sentence's tokens in place of its last one's state, as
MP-BERT4CR has it (section 4). The vector of a document is the layer-normed sum of its sentences'.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, NamedTuple

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from cocite.bounds import Dimension, Heads, Layers, ProperShare, TextLength
from cocite.config import Settings
from cocite.nn.packed_attention import Packed, attention, rows_of, sorted_by_length, wide
from cocite.systems.mp_bert4cr.tied_words import Words
from cocite.text.documents import Documents

STEEP = 16.0
"""A place's weight is the exponential of so many times what is learned: it moves as fast as the words' norms do."""
CHUNK = 8192
"""Tokens that go through all layers together on a CPU: what a layer makes of so many stays in its caches."""


class HierarchicalSettings(Settings):
    """Size and shape of an encoder."""

    sentence_layers: Layers = 6
    """Layers over the tokens of a sentence."""
    document_layers: Layers = 6
    """Layers over the sentences of a document."""
    hidden: Dimension = 768
    """d, width of tokens, sentences and documents."""
    heads: Heads = 12
    """Attention heads; they divide ``hidden``."""
    inner: Dimension = 3072
    """Width within a feed-forward layer."""
    dropout: ProperShare = 0.1
    """Of embeddings, and of what a layer adds to its input."""
    attention_dropout: ProperShare = 0.0
    """Of attention weights; without it attention on a GPU needs no padding."""
    norm: Literal["post", "pre"] = "post"
    """``post``: layer norm behind each residual, as in the paper. ``pre``: before each branch, whose output begins at
    zero and grows slowly, and embeddings as they are: the model begins as a mean of word vectors, whose norms are the
    words' weights, and attention joins as it proves useful. Small models learn several times as fast so."""
    pooling: Literal["mean", "eos"] = "mean"
    """A sentence's vector: the mean of its tokens' states, or its last token's."""
    weighted: bool = False
    """Whether each place in a document has a weight in the sum over its sentences; they begin at 1, where those of the
    paper stay. A manuscript's citing sentence need not count as little then as one of its abstract."""
    sentence_tokens: int = Field(64, ge=2, le=65_535)
    """Tokens of a sentence at most."""
    sentences: TextLength = 64
    """Sentences of a document at most."""

    @model_validator(mode="after")
    def _possible(self) -> HierarchicalSettings:
        if self.hidden % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.hidden}")
        return self


class Encoded(NamedTuple):
    """What an encoder makes of documents.

    Attributes:
        sentences: (S, d) state of each sentence, in the documents' order.
        documents: (D, d) vector of each document.
    """

    sentences: Tensor
    documents: Tensor


class Layer(nn.Module):
    """One transformer layer over packed sequences.

    Args:
        settings: its shape.
        causal: whether a row sees those before it and itself alone.
    """

    def __init__(self, settings: HierarchicalSettings, *, causal: bool = False) -> None:
        super().__init__()
        self.settings, self.causal = settings, causal
        hidden, inner = settings.hidden, settings.inner
        self.project = nn.Linear(hidden, 3 * hidden)
        self.output = nn.Linear(hidden, hidden)
        self.widen, self.narrow = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.attention_norm, self.forward_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(settings.dropout)
        # A branch at full size would drown the words, whose components are of size hidden**-0.5, within a few steps of
        # Adam: each step moves every weight alike, and an output is a sum over as many of them as the model is wide.
        self.size = 1 / hidden if settings.norm == "pre" else 1.0
        for linear in (self.project, self.output, self.widen, self.narrow):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        if settings.norm == "pre":
            nn.init.zeros_(self.output.weight)
            nn.init.zeros_(self.narrow.weight)

    def forward(self, states: Tensor, packed: Packed) -> Tensor:
        """(T, d) from (T, d)."""
        if self.settings.norm == "pre":
            states = states + self.attend(self.attention_norm(states), packed)
            return states + self.feed_forward(self.forward_norm(states))
        states = self.attention_norm(states + self.attend(states, packed))
        normed: Tensor = self.forward_norm(states + self.feed_forward(states))
        return normed

    def attend(self, states: Tensor, packed: Packed) -> Tensor:
        """(T, d) what attention adds."""
        s = self.settings
        dropout = s.attention_dropout if self.training else 0.0
        seen = attention(self.project(states), packed, s.heads, dropout=dropout, causal=self.causal)
        return self._added(self.output(seen))

    def feed_forward(self, states: Tensor) -> Tensor:
        """(T, d) what the feed-forward net adds."""
        wide = functional.relu(self.widen(states), inplace=True)
        return self._added(self.narrow(self.dropout(wide)))

    def _added(self, states: Tensor) -> Tensor:
        """(T, d) a branch's output as it is added."""
        added: Tensor = self.dropout(states)
        return added if self.size == 1.0 else self.size * added


class Embedding(nn.Module):
    """What enters the first layer: things, each with the embedding of its place.

    Args:
        settings: of the model.
        places: how many places there are.
    """

    def __init__(self, settings: HierarchicalSettings, places: int) -> None:
        super().__init__()
        self.post = settings.norm == "post"
        self.places = nn.Embedding(places, settings.hidden)
        nn.init.normal_(self.places.weight, std=0.02 if self.post else 0.0)
        self.norm = nn.LayerNorm(settings.hidden) if self.post else None
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, states: Tensor, places: Tensor) -> Tensor:
        """(T, d) from (T, d) and the (T,) place of each row; in half precision under autocast."""
        states = states + self.places(places)
        if self.norm is not None:
            states = self.norm(states)
        device = states.device.type
        if torch.is_autocast_enabled(device):  # then so is all that is added: half the memory to go through
            states = states.to(torch.get_autocast_dtype(device))
        entering: Tensor = self.dropout(states)
        return entering


class HierarchicalEncoder(nn.Module):
    """Documents as vectors.

    Args:
        settings: size and shape.
        vocabulary: tokens that there are.
    """

    def __init__(self, settings: HierarchicalSettings, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        std = settings.hidden**-0.5 if settings.norm == "pre" else 0.02
        self.words = Words(vocabulary, settings.hidden, std)
        self.tokens = Embedding(settings, settings.sentence_tokens)
        self.sentence_layers = nn.ModuleList(Layer(settings) for _ in range(settings.sentence_layers))
        self.sentences = Embedding(settings, settings.sentences)
        self.document_layers = nn.ModuleList(Layer(settings) for _ in range(settings.document_layers))
        self.weights = nn.Parameter(torch.zeros(settings.sentences)) if settings.weighted else None
        self.norm = nn.LayerNorm(settings.hidden)
        self.checkpointed = False

    def gradient_checkpointing_enable(self) -> None:
        """Compute the layers' states again in the backward pass instead of keeping them."""
        self.checkpointed = True

    @torch.no_grad()
    def quieten(self, factor: float) -> None:
        """Multiply what the layers add by a factor, and let places and the last norm begin anew (``norm: pre``).

        What pretraining leaves as a document's state tells of the words of its sentences, and all documents' states
        lie close together: as cosines they mean little. Quiet layers keep what they have learned, and the documents
        begin near the means of their words.
        """
        for layer in (*self.sentence_layers, *self.document_layers):
            for branch in (layer.output, layer.narrow):
                branch.weight.mul_(factor)
                branch.bias.mul_(factor)
        for embedding in (self.tokens, self.sentences):
            embedding.places.weight.zero_()
        self.norm.reset_parameters()

    def forward(self, documents: Documents, *, layers: bool = True) -> Encoded:
        """Sentences and documents as vectors, in no less than fp32.

        Args:
            documents: no longer than the settings say, each of a sentence or more, each sentence of a token or more.
            layers: False leaves all layers out: with ``norm: pre`` documents are weighted sums of words then.
        """
        packed, order = sorted_by_length(documents.lengths)
        starts = documents.sentences[:-1][order]
        found = self._sentences(documents.ids, starts, packed, layers)
        at = torch.empty_like(order)
        at[order] = torch.arange(len(order), device=order.device)  # where each sentence went

        packed, order = sorted_by_length(documents.document_lengths)
        rows = rows_of(documents.documents[:-1][order], packed)
        states = self.sentences(found[at[rows]], packed.places)
        for layer in self.document_layers if layers else ():
            states = self._through(layer, states, packed)
        counted = states
        if self.weights is not None:
            counted = states * (STEEP * self.weights).exp()[packed.places, None].to(states.dtype)
        sums = self.norm(packed.sum(counted))
        sentences, vectors = torch.empty_like(rows), torch.empty_like(order)
        sentences[rows] = torch.arange(len(rows), device=rows.device)
        vectors[order] = torch.arange(len(order), device=order.device)
        return Encoded(states[sentences].to(wide(states.dtype)), sums[vectors])

    def _sentences(self, ids: Tensor, starts: Tensor, packed: Packed, layers: bool) -> Tensor:
        """(S, d) the vectors of sentences, in the order of ``packed``."""
        found = []
        for first, last in _chunks(packed, ids.device):
            some = Packed(packed.lengths[first:last], packed.host[first:last])
            states = self.tokens(self.words(ids[rows_of(starts[first:last], some)]), some.places)
            for layer in self.sentence_layers if layers else ():
                states = self._through(layer, states, some)
            if self.settings.pooling == "mean":
                found.append(some.mean(states))
            else:
                found.append(states[some.offsets[1:] - 1].to(wide(states.dtype)))
        return torch.cat(found)

    def _through(self, layer: nn.Module, states: Tensor, packed: Packed) -> Tensor:
        if self.checkpointed and self.training:
            found: Tensor = checkpoint(layer, states, packed, use_reentrant=False)
            return found
        found = layer(states, packed)
        return found


def _chunks(packed: Packed, device: torch.device) -> list[tuple[int, int]]:
    """(first, last) sequences that go through the layers together: all on a GPU, a cache full on a CPU."""
    count = len(packed.host)
    if device.type != "cpu":
        return [(0, count)]
    number = packed.host.cumsum() // CHUNK
    cuts = (number[1:] != number[:-1]).nonzero()[0] + 1
    ends = [0, *cuts.tolist(), count]
    return list(pairwise(ends))

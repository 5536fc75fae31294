"""The hierarchical transformer of MP-BERT4CR: tokens to sentence vectors, sentence vectors to document vectors.

HIBERT (Zhang, Wei, Zhou 2019, section 3.1), but a sentence's vector is the mean of its tokens' states and not the state
of its last token, as MP-BERT4CR has it (section 4). The vector of a document is the layer-normed sum of its sentences'.
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
from cocite.nn.packed_attention import (
    PackedSequences,
    accumulation_dtype,
    attention,
    pack_by_length,
    row_indices,
)
from cocite.systems.mp_bert4cr.tied_embedding import TiedEmbedding
from cocite.systems.mp_bert4cr.trunk_projection import TrunkProjection
from cocite.text.documents import Documents

STEEPNESS = 16.0
"""A position's weight is the exponential of this times a parameter: it then changes as fast as the words' norms do."""
TINY = 1e-12
"""A norm below it counts as it, so that nothing is divided by 0."""
CHUNK = 8192
"""Tokens that go through all layers together on a CPU: a layer's output for so many stays in the processor's caches."""


class HierarchicalSettings(Settings):
    """Size and shape of a hierarchical encoder.

    Example:
        >>> HierarchicalSettings(sentence_layers=2, document_layers=2, hidden=192, heads=4, inner=768).pooling
        'mean'
        >>> HierarchicalSettings.parse({"hidden": 192, "heads": 5})
        Traceback (most recent call last):
        cocite.errors.ConfigError: 5 heads do not divide a width of 192
    """

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
    """Dropout of embeddings, and of what a layer adds to its input."""
    attention_dropout: ProperShare = 0.0
    """Dropout of attention weights; without it attention on a GPU needs no padding."""
    norm: Literal["post", "pre"] = "post"
    """``post``: layer norm after each residual, as in the paper. ``pre``: before each branch, whose output begins at
    zero and grows slowly, and embeddings without a norm: the model begins as a mean of word vectors, whose norms are
    the words' weights, and attention is added as it proves useful. Small models learn several times as fast so."""
    pooling: Literal["mean", "eos"] = "mean"
    """A sentence's vector: the mean of its tokens' states, or its last token's state."""
    weighted: bool = False
    """Whether each position in a document has a weight in the sum over its sentences; weights begin at 1, where those
    of the paper stay. A manuscript's citing sentence may then count more than one of its abstract."""
    reads: Literal["both", "words", "trunk"] = "both"
    """What a sentence is made of: the states of its words, its projected vector of a frozen trunk, or their sum."""
    trunk_width: int = Field(0, ge=0, le=65_536)
    """Width of the trunk's vectors; 0: there is no trunk, and ``both`` are the words alone. A training sets it."""
    sentence_tokens: int = Field(64, ge=2, le=65_535)
    """Most tokens of a sentence."""
    sentences: TextLength = 64
    """Most sentences of a document."""

    @model_validator(mode="after")
    def _possible(self) -> HierarchicalSettings:
        if self.hidden % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.hidden}")
        return self

    @property
    def reads_trunk(self) -> bool:
        """Whether sentences have a trunk's vectors."""
        return self.trunk_width > 0 and self.reads != "words"


class EncodedDocuments(NamedTuple):
    """The encoder's output.

    Attributes:
        sentences: (S, d) state of each sentence, in the documents' order.
        documents: (D, d) vector of each document.

    Example:
        >>> EncodedDocuments(torch.zeros(5, 8), torch.zeros(2, 8)).documents.shape  # two documents of five sentences
        torch.Size([2, 8])
    """

    sentences: Tensor
    documents: Tensor


class TransformerLayer(nn.Module):
    """One transformer layer over packed sequences.

    Args:
        settings: its shape.
        causal: whether a row sees only itself and those before it.

    Example:
        >>> packed, order = pack_by_length(torch.tensor([2, 3]))  # two sequences, five rows together
        >>> layer = TransformerLayer(HierarchicalSettings(hidden=8, heads=2, inner=16))
        >>> layer(torch.zeros(5, 8), packed).shape
        torch.Size([5, 8])
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
        # Adam: each step changes every weight by as much, and an output is a sum over as many as the model is wide.
        self.size = 1 / hidden if settings.norm == "pre" else 1.0
        for linear in (self.project, self.output, self.widen, self.narrow):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        if settings.norm == "pre":
            nn.init.zeros_(self.output.weight)
            nn.init.zeros_(self.narrow.weight)

    def forward(self, states: Tensor, packed: PackedSequences) -> Tensor:
        """(T, d) from (T, d)."""
        if self.settings.norm == "pre":
            states = states + self.attend(self.attention_norm(states), packed)
            return states + self.feed_forward(self.forward_norm(states))
        states = self.attention_norm(states + self.attend(states, packed))
        normed: Tensor = self.forward_norm(states + self.feed_forward(states))
        return normed

    def attend(self, states: Tensor, packed: PackedSequences) -> Tensor:
        """(T, d) the attention branch."""
        s = self.settings
        dropout = s.attention_dropout if self.training else 0.0
        attended = attention(self.project(states), packed, s.heads, dropout=dropout, causal=self.causal)
        return self._branch(self.output(attended))

    def feed_forward(self, states: Tensor) -> Tensor:
        """(T, d) the feed-forward branch."""
        inner = functional.relu(self.widen(states), inplace=True)
        return self._branch(self.narrow(self.dropout(inner)))

    def _branch(self, states: Tensor) -> Tensor:
        """(T, d) a branch's output as it is added to its input."""
        added: Tensor = self.dropout(states)
        return added if self.size == 1.0 else self.size * added


class InputEmbedding(nn.Module):
    """The input of the first layer: rows (tokens or sentences), each with the embedding of its position.

    Args:
        settings: of the model.
        places: how many positions there are.

    Example:
        >>> embedding = InputEmbedding(HierarchicalSettings(hidden=8, heads=2, inner=16, norm="pre"), places=4)
        >>> states = torch.ones(3, 8)
        >>> torch.equal(embedding.eval()(states, torch.tensor([0, 1, 2])), states)  # with norm: pre they begin at zero
        True
    """

    def __init__(self, settings: HierarchicalSettings, places: int) -> None:
        super().__init__()
        self.post = settings.norm == "post"
        self.places = nn.Embedding(places, settings.hidden)
        nn.init.normal_(self.places.weight, std=0.02 if self.post else 0.0)
        self.norm = nn.LayerNorm(settings.hidden) if self.post else None
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, states: Tensor, places: Tensor) -> Tensor:
        """(T, d) from (T, d) and the (T,) position of each row; in half precision under autocast."""
        states = states + self.places(places)
        if self.norm is not None:
            states = self.norm(states)
        device = states.device.type
        # All residuals are then in half precision, which is half the memory traffic.
        if torch.is_autocast_enabled(device):
            states = states.to(torch.get_autocast_dtype(device))
        embedded: Tensor = self.dropout(states)
        return embedded


class HierarchicalEncoder(nn.Module):
    """Computes vectors of documents.

    Args:
        settings: size and shape.
        vocabulary: number of tokens that there are.

    Example:
        >>> settings = HierarchicalSettings(sentence_layers=1, document_layers=1, hidden=8, heads=2, inner=16)
        >>> documents = Documents(  # two documents: of two sentences, and of one
        ...     ids=torch.tensor([5, 6, 2, 7, 2, 8, 9, 2]), sentences=torch.tensor([0, 3, 5, 8]),
        ...     documents=torch.tensor([0, 2, 3]))
        >>> encoded = HierarchicalEncoder(settings, vocabulary=10).eval()(documents)
        >>> encoded.sentences.shape, encoded.documents.shape
        (torch.Size([3, 8]), torch.Size([2, 8]))
    """

    def __init__(self, settings: HierarchicalSettings, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        std = settings.hidden**-0.5 if settings.norm == "pre" else 0.02
        self.words = TiedEmbedding(vocabulary, settings.hidden, std)
        self.tokens = InputEmbedding(settings, settings.sentence_tokens)
        self.sentence_layers = nn.ModuleList(
            TransformerLayer(settings) for _ in range(settings.sentence_layers)
        )
        width = settings.trunk_width
        self.trunk = TrunkProjection(width, settings.hidden) if settings.reads_trunk else None
        self.sentences = InputEmbedding(settings, settings.sentences)
        self.document_layers = nn.ModuleList(
            TransformerLayer(settings) for _ in range(settings.document_layers)
        )
        self.weights = nn.Parameter(torch.zeros(settings.sentences)) if settings.weighted else None
        self.norm = nn.LayerNorm(settings.hidden)
        self.checkpointed = False

    def gradient_checkpointing_enable(self) -> None:
        """Compute the layers' states again in the backward pass instead of storing them."""
        self.checkpointed = True

    @torch.no_grad()
    def shrink_branches(self, factor: float) -> None:
        """Multiply the output of all branches by a factor, and reset positions and the last norm (``norm: pre``).

        After pretraining a document's state predicts the words of its sentences, and the states of all documents lie
        close together, so that their cosines mean little. With shrunk branches the layers keep what they have learned,
        and the documents begin near the means of their words.
        """
        for layer in (*self.sentence_layers, *self.document_layers):
            for branch in (layer.output, layer.narrow):
                branch.weight.mul_(factor)
                branch.bias.mul_(factor)
        for embedding in (self.tokens, self.sentences):
            embedding.places.weight.zero_()
        self.norm.reset_parameters()

    def forward(
        self, documents: Documents, *, layers: bool = True, masked: tuple[Tensor, Tensor] | None = None
    ) -> EncodedDocuments:
        """Sentences and documents as vectors, in no less than fp32.

        Args:
            documents: no longer than the settings say, each of a sentence or more, each sentence of a token or more.
            layers: False leaves all layers out: with ``norm: pre`` documents are weighted sums of words then.
            masked: numbers of sentences that are hidden, and the (d,) vector that they are replaced by.
        """
        states, sums = self._documents(documents, layers, masked)
        return EncodedDocuments(states.to(accumulation_dtype(states.dtype)), self.norm(sums))

    @torch.no_grad()
    def added_by_layers(self, documents: Documents) -> Tensor:
        """(D,) norm of what all layers add to each document's sum, relative to the sum without them.

        Both are taken before the last norm, which would scale them apart. 0: the layers add nothing.
        """
        with_layers, without = (self._documents(documents, layers)[1] for layers in (True, False))
        share: Tensor = (with_layers - without).norm(dim=1) / without.norm(dim=1).clamp(min=TINY)
        return share

    def _documents(
        self, documents: Documents, layers: bool, masked: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """(S, d) the state of each sentence, and (D, d) the weighted sum of each document's."""
        inputs = self._inputs(documents, layers)
        if masked is not None:
            inputs = inputs.index_copy(
                0, masked[0], masked[1].to(inputs.dtype).expand(len(masked[0]), -1).contiguous()
            )
        packed, order = pack_by_length(documents.document_lengths)
        rows = row_indices(documents.documents[:-1][order], packed)
        states = self.sentences(inputs[rows], packed.positions)
        for layer in self.document_layers if layers else ():
            states = self._through(layer, states, packed)
        weighted = states
        if self.weights is not None:
            weights = (STEEPNESS * self.weights).exp()[packed.positions, None]
            weighted = states * weights.to(states.dtype)
        return states[_inverse(rows)], packed.sum(weighted)[_inverse(order)]

    def _inputs(self, documents: Documents, layers: bool) -> Tensor:
        """(S, d) the vectors of sentences, in the documents' order: of their words, their trunk's, or the sum."""
        if self.settings.reads == "trunk":
            return self._of_trunk(documents)
        packed, order = pack_by_length(documents.lengths)
        words = self._sentences(documents.ids, documents.sentences[:-1][order], packed, layers)
        words = words[_inverse(order)]
        return words if self.trunk is None else words + self._of_trunk(documents).to(words.dtype)

    def _of_trunk(self, documents: Documents) -> Tensor:
        """(S, d) the projected vectors of the trunk."""
        if self.trunk is None or documents.vectors is None:
            raise ValueError("the documents or the model have no sentence vectors, which are to be read")
        projected: Tensor = self.trunk(documents.vectors)
        return projected

    def _sentences(self, ids: Tensor, starts: Tensor, packed: PackedSequences, layers: bool) -> Tensor:
        """(S, d) the vectors of sentences, in the order of ``packed``."""
        vectors = []
        for first, last in _chunks(packed, ids.device):
            chunk = PackedSequences(packed.lengths[first:last], packed.host_lengths[first:last])
            states = self.tokens(self.words(ids[row_indices(starts[first:last], chunk)]), chunk.positions)
            for layer in self.sentence_layers if layers else ():
                states = self._through(layer, states, chunk)
            if self.settings.pooling == "mean":
                vectors.append(chunk.mean(states))
            else:
                vectors.append(states[chunk.offsets[1:] - 1].to(accumulation_dtype(states.dtype)))
        return torch.cat(vectors)

    def _through(self, layer: nn.Module, states: Tensor, packed: PackedSequences) -> Tensor:
        """(T, d) a layer's output, checkpointed where that is enabled."""
        output: Tensor
        if self.checkpointed and self.training:
            output = checkpoint(layer, states, packed, use_reentrant=False)
        else:
            output = layer(states, packed)
        return output


def _inverse(order: Tensor) -> Tensor:
    """(n,) where each of 0 ... n - 1 is in a permutation of them."""
    result = torch.empty_like(order)
    result[order] = torch.arange(len(order), device=order.device)
    return result


def _chunks(packed: PackedSequences, device: torch.device) -> list[tuple[int, int]]:
    """(first, last) sequences that go through the layers together: all on a GPU, ``CHUNK`` tokens on a CPU."""
    count = len(packed.host_lengths)
    if device.type != "cpu":
        return [(0, count)]
    number = packed.host_lengths.cumsum() // CHUNK
    cuts = (number[1:] != number[:-1]).nonzero()[0] + 1
    ends = [0, *cuts.tolist(), count]
    return list(pairwise(ends))

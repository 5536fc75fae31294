"""HAtten, the hierarchical attention encoder (Gu et al. 2022, section 4.1): text in, one vector out.

A paragraph's words go through one transformer layer and a multi-head pooling; the paragraphs of a document, each with
the embedding of its type, go through another such pair. A query has a title, an abstract and a citation context, a
paper has the first two. A missing paragraph is left out, so that a query without a context is embedded too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from cocite.bounds import Dimension, Heads, ProperShare
from cocite.config import Settings
from cocite.systems.hatten.layers import MultiHeadPooling, TransformerLayer, sinusoids
from cocite.text.paragraphs import CONTEXT, GAP, KINDS, Paragraphs

BUCKET = 4096
"""Cells of a rectangle of words on a CPU: a layer's output for so many stays in the processor's caches."""
HANDLING = 64
"""Cells of padding that take about as long as the operators of a further rectangle."""


class HattenModelSettings(Settings):
    """Size and shape of the model.

    Example:
        >>> HattenModelSettings(dimension=100, heads=4).feed_forward
        800
        >>> HattenModelSettings.parse({"dimension": 200, "heads": 3})
        Traceback (most recent call last):
        cocite.errors.ConfigError: heads: 3 do not divide the dimension 200
    """

    dimension: Dimension = 200
    """Width of words, paragraphs and documents."""
    heads: Heads = 5
    """Heads of attention and of pooling; they divide the dimension among them."""
    feed_forward: Dimension = 800
    """Width between the two linear maps of a transformer layer."""
    dropout: ProperShare = 0.1
    word_dropout: ProperShare = 0.0
    """Share of a paragraph's words that training leaves out."""
    positions: int = Field(512, ge=2, le=1_000_000)
    """Word positions that have an encoding of their own; further ones have that of the last."""
    roles: bool = True
    """Whether a query's title and abstract have types of their own; in the paper they share those of a candidate."""
    gap_positions: bool = True
    """Whether the words of a context are counted from its gap; in the paper, from its beginning."""
    attention: bool = True
    """Whether the two levels of attention are used; without them the ``bag`` is left, thirty times as fast."""
    bag: bool = True
    """Whether weighted sums of the word vectors bypass both levels and are added; not in the paper."""

    @model_validator(mode="after")
    def _divisible(self) -> HattenModelSettings:
        if not (self.attention or self.bag):
            raise ValueError("attention and bag: one of them is needed")
        if self.dimension % self.heads:
            raise ValueError(f"heads: {self.heads} do not divide the dimension {self.dimension}")
        return self


class Documents(NamedTuple):
    """Documents, and the distinct paragraphs they consist of: each paragraph once, however many documents have it.

    Example:
        >>> paragraphs = Paragraphs(np.array([0, 2, 5, 6]), np.array([4, 5, 4, 6, 7, 8], np.int32))
        >>> parts = np.array([[0, 1, -1], [2, 1, -1]])  # two papers that share an abstract
        >>> documents = pack(paragraphs, parts, np.array([False, False]), HattenModelSettings())
        >>> documents.lengths  # the longest paragraph stands first
        tensor([3, 2, 1])
        >>> documents.parts  # 1 + the paragraph's position
        tensor([[2, 1, 0],
                [3, 1, 0]])
    """

    tokens: Tensor
    """(T,) word numbers of all paragraphs, one behind the other, the longest paragraph first."""
    positions: Tensor
    """(T,) positions of the words in their paragraphs."""
    lengths: Tensor
    """(P,) words of each paragraph."""
    in_context: Tensor
    """(T,) whether a word belongs to a context."""
    shapes: tuple[tuple[int, int], ...]
    """(rows, columns) of rectangles that hold the paragraphs in order, with hardly any padding."""
    cells: Tensor
    """(S,) the word in each cell of all rectangles, row by row; 0 in cells that are padding."""
    parts: Tensor
    """(D, 3) for each document its title, abstract and context: 1 + the paragraph's number, 0 where there is none."""
    is_query: Tensor
    """(D,) whether a document is a query."""

    def to(self, device: torch.device) -> Documents:
        """The same documents with the tensors on a device."""
        moved: dict[str, Any] = {
            name: part.to(device) for name, part in self._asdict().items() if isinstance(part, Tensor)
        }
        return self._replace(**moved)


def pack(
    paragraphs: Paragraphs,
    parts: NDArray[np.int64],
    is_query: NDArray[np.bool_],
    settings: HattenModelSettings,
    *,
    bucket: int = BUCKET,
) -> Documents:
    """Documents in the form that the model reads.

    Args:
        paragraphs: the texts.
        parts: (D, 3) for each document the positions of its title, abstract and context in ``paragraphs``, -1 for
            none. Empty paragraphs count as none; each document must have one that is not empty.
        is_query: (D,) whether a document is a query.
        settings: of the model.
        bucket: cells of a rectangle, unless one paragraph needs more.
    """
    # All that follows is of the size of these documents: ``paragraphs`` may be those of a large corpus.
    found = np.unique(parts[parts >= 0])
    lengths = paragraphs.lengths_at(found)
    # Attention over no words is NaN: an empty paragraph counts as absent.
    found, lengths = found[lengths > 0], lengths[lengths > 0]
    order = np.argsort(-lengths, kind="stable")
    used = found[order]
    packed = paragraphs.take(used)
    owner = np.repeat(np.arange(len(used)), packed.lengths)
    positions = np.arange(len(owner)) - packed.indptr[owner]
    is_context = np.isin(used, parts[:, CONTEXT])
    if settings.gap_positions:
        middle = np.where(is_context, settings.positions // 2, 0)
        gaps = np.flatnonzero(packed.tokens == GAP)[::-1]  # of several, the first counts
        middle[owner[gaps]] -= positions[gaps] * is_context[owner[gaps]]
        positions = positions + middle[owner]
    number = np.zeros(len(found) + 1, np.int64)  # the last entry: no paragraph
    number[order] = np.arange(1, len(used) + 1)
    at = np.searchsorted(found, parts)
    at[~np.isin(parts, found)] = len(found)
    shapes, cells = _rectangles(packed, bucket)
    return Documents(
        torch.from_numpy(packed.tokens),
        torch.from_numpy(np.clip(positions, 0, settings.positions - 1)),
        torch.from_numpy(packed.lengths),
        torch.from_numpy(is_context[owner]),
        shapes,
        torch.from_numpy(cells),
        torch.from_numpy(number[at]),
        torch.from_numpy(is_query),
    )


def _rectangles(paragraphs: Paragraphs, bucket: int) -> tuple[tuple[tuple[int, int], ...], NDArray[np.int64]]:
    """Shapes and cells (see :class:`Documents`) of paragraphs that are sorted by length, the longest first."""
    shapes, cells, start = [], [np.zeros(0, np.int64)], 0
    while start < len(paragraphs):
        columns = int(paragraphs.lengths[start])
        # A title beside an abstract would be nearly all padding: of few paragraphs, that is half the work.
        alike = int(np.searchsorted(-paragraphs.lengths, HANDLING - columns, side="right"))
        end = min(start + max(1, bucket // columns), alike)
        at = paragraphs.indptr[start:end, None] + np.arange(columns)
        cells.append(np.where(np.arange(columns) < paragraphs.lengths[start:end, None], at, 0).ravel())
        shapes.append((end - start, columns))
        start = end
    return tuple(shapes), np.concatenate(cells)


class Level(nn.Module):
    """One level of the hierarchy: a transformer layer and a pooling.

    Args:
        settings: size and shape.

    Example:
        >>> level = Level(HattenModelSettings(dimension=20, feed_forward=40))
        >>> level(torch.zeros(3, 5, 20), torch.ones(3, 5, dtype=torch.bool)).shape
        torch.Size([3, 20])
    """

    def __init__(self, settings: HattenModelSettings) -> None:
        super().__init__()
        self.layer = TransformerLayer(
            settings.dimension, settings.heads, settings.feed_forward, settings.dropout
        )
        self.pooling = MultiHeadPooling(settings.dimension, settings.heads)
        self.recompute = False

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, d) from (B, L, d) and (B, L)."""
        pooled: Tensor
        if self.recompute and torch.is_grad_enabled():
            pooled = checkpoint(self._pooled, x, mask, use_reentrant=False)
        else:
            pooled = self._pooled(x, mask)
        return pooled

    def _pooled(self, x: Tensor, mask: Tensor) -> Tensor:
        pooled: Tensor = self.pooling(self.layer(x, mask), mask)
        return pooled


class Hatten(nn.Module):
    """Computes unit vectors of documents.

    Args:
        words: how many word numbers there are.
        settings: size and shape.

    Example:
        >>> settings = HattenModelSettings(dimension=20, feed_forward=40)
        >>> paragraphs = Paragraphs(np.array([0, 2, 5]), np.array([4, 5, 4, 6, 7], np.int32))
        >>> documents = pack(paragraphs, np.array([[0, 1, -1], [0, -1, -1]]), np.array([False, False]), settings)
        >>> vectors = Hatten(words=10, settings=settings).eval()(documents)
        >>> vectors.shape, torch.allclose(vectors.norm(dim=1), torch.ones(2))
        (torch.Size([2, 20]), True)
    """

    def __init__(self, words: int, settings: HattenModelSettings) -> None:
        super().__init__()
        self.settings = settings
        dimension = settings.dimension
        start = dimension**-0.5
        self.words = nn.Embedding(words, dimension)
        nn.init.normal_(self.words.weight, std=start)
        if settings.attention:
            self.places: Tensor
            self.register_buffer("places", sinusoids(settings.positions, dimension), persistent=False)
            self.paragraph, self.document = Level(settings), Level(settings)
            self.types = nn.Embedding(2 * len(KINDS), dimension)  # of papers, then of queries
        if settings.bag:
            # Only the ratios of these weights count; at this size, an optimiser step changes them as much as the words.
            self.word_weight = nn.Embedding(words, 1)
            nn.init.constant_(self.word_weight.weight, start)
            self.place_weight = nn.Parameter(torch.full((settings.positions,), start))
            self.type_weight = nn.Parameter(torch.full((2 * len(KINDS),), start))
        if settings.bag and settings.attention:
            self.gate = nn.Parameter(torch.zeros(1))  # training opens it as attention proves useful

    def gradient_checkpointing_enable(self) -> None:
        """Keep the inputs of both levels alone, and compute what is inside again for the gradients."""
        if self.settings.attention:
            self.paragraph.recompute = self.document.recompute = True

    @torch.no_grad()
    def set_words(self, vectors: Tensor, weights: Tensor) -> None:
        """Set initial word vectors (W, d), to which positional encodings are added, and weights (W,), 1 on average."""
        scale = self.settings.dimension**-0.5
        self.words.weight.copy_(vectors * scale)
        if self.settings.bag:
            self.word_weight.weight.copy_(weights[:, None] * scale)

    def forward(self, documents: Documents, attend: bool = True) -> Tensor:
        """(D, d) unit vectors.

        Args:
            documents: the documents to embed.
            attend: False leaves attention out where there is a bag.
        """
        keep = self._read_words(documents)
        if not self.settings.bag:
            return functional.normalize(_at_least_float32(self._attend(documents, keep)), dim=1)
        with torch.autocast(documents.tokens.device.type, enabled=False):
            bags = functional.normalize(self._bags(documents, keep), dim=1)
        if not (attend and self.settings.attention) or (not self.training and not self.gate):
            return bags
        attended = functional.normalize(_at_least_float32(self._attend(documents, keep)), dim=1)
        # Multiplied by this root, the gate changes as fast as the words do; see ``Hatten.__init__``.
        return functional.normalize(bags + self.gate * self.settings.dimension**0.5 * attended, dim=1)

    def _read_words(self, documents: Documents) -> Tensor | None:
        """(T,) whether each word is read; None: all are."""
        if not (self.training and self.settings.word_dropout):
            return None
        keep = torch.rand(len(documents.tokens), device=documents.tokens.device) >= self.settings.word_dropout
        keep[documents.lengths.cumsum(0) - documents.lengths] = True  # every paragraph keeps its first word
        return keep

    def _types(self, documents: Documents) -> Tensor:
        """(D, 3) the type of each part."""
        own = documents.is_query[:, None].long() * self.settings.roles
        return torch.arange(len(KINDS), device=own.device) + len(KINDS) * own

    def _attend(self, documents: Documents, keep: Tensor | None) -> Tensor:
        """(D, d) the output of both levels of attention."""
        device = documents.tokens.device
        sizes = [rows * columns for rows, columns in documents.shapes]
        words = torch.split(self.words(documents.tokens[documents.cells]), sizes)
        places = torch.split(documents.positions[documents.cells], sizes)
        half = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
        lengths = torch.split(documents.lengths, [rows for rows, _ in documents.shapes])
        kept = torch.split(keep[documents.cells], sizes) if keep is not None else None
        paragraphs = []
        for i, (rows, columns) in enumerate(documents.shapes):
            mask = torch.arange(columns, device=device) < lengths[i][:, None]
            if kept is not None:
                mask = mask & kept[i].view(rows, columns)
            # Vaswani et al., section 3.4: vectors of variance 1 / d are multiplied by the root of d.
            x = torch.add(self.places[places[i]], words[i], alpha=self.settings.dimension**0.5)
            x = (x if half is None else x.to(half)).view(
                rows, columns, -1
            )  # residuals then stay in half precision
            paragraphs.append(self.paragraph(x, mask))
        parts = _gather(_at_least_float32(torch.cat(paragraphs)), documents.parts)
        attended: Tensor = self.document(parts + self.types(self._types(documents)), documents.parts > 0)
        return attended

    def _bags(self, documents: Documents, keep: Tensor | None) -> Tensor:
        """(D, d) for each document the sum of its paragraphs' unit vectors, each multiplied by the weight of its type.

        A paragraph's vector is the weighted sum of its words, normalised.
        """
        weights = self.word_weight(documents.tokens)[:, 0]
        weights = weights * torch.where(documents.in_context, self.place_weight[documents.positions], 1.0)
        if keep is not None:
            weights = weights * keep
        sums = functional.embedding_bag(
            documents.tokens,
            self.words.weight,
            documents.lengths.cumsum(0) - documents.lengths,
            mode="sum",
            per_sample_weights=weights,
        )
        parts = _gather(functional.normalize(sums, dim=1), documents.parts)  # (D, 3, d)
        return (self.type_weight[self._types(documents)][:, None] @ parts)[:, 0]


def _at_least_float32(vectors: Tensor) -> Tensor:
    """The vectors in at least single precision, in which norms and sums over documents are computed."""
    return vectors.float() if vectors.dtype in (torch.bfloat16, torch.float16) else vectors


def _gather(paragraphs: Tensor, parts: Tensor) -> Tensor:
    """(D, 3, d) the vectors of each document's parts, 0 where a part is missing."""
    nothing = paragraphs.new_zeros(1, paragraphs.shape[1])
    return functional.embedding(parts, torch.cat([nothing, paragraphs]))

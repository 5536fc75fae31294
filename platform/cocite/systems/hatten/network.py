"""HAtten, the hierarchical attention encoder (Gu et al. 2022, section 4.1): text in, one vector out.

A paragraph's words go through one transformer layer and a multi-head pooling; the paragraphs of a document, each with
the embedding of its type, through another such pair. A query has a title, an abstract and a citation context, a paper
the first two; what is missing is not there, so that a query without a context is embedded too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from cocite.bounds import Dimension, Heads, ProperShare
from cocite.config import Settings
from cocite.text.paragraphs import CONTEXT, GAP, KINDS, Paragraphs

BUCKET = 4096
"""Words of a bucket on a CPU: what a layer makes of so many stays in its caches."""


class HattenModelSettings(Settings):
    """Size and shape of the model."""

    dimension: Dimension = 200
    """Of words, paragraphs and documents."""
    heads: Heads = 5
    """Heads of attention and of pooling; they share the dimension."""
    feed_forward: Dimension = 800
    """Width between the two linear maps of a transformer layer."""
    dropout: ProperShare = 0.1
    word_dropout: ProperShare = 0.0
    """Share of a paragraph's words that training does not see."""
    positions: int = Field(512, ge=2, le=1_000_000)
    """Places that are told apart; further ones are as the last."""
    roles: bool = True
    """Whether a query's title and abstract have types of their own; in the paper they have those of a candidate's."""
    gap_positions: bool = True
    """Whether the words of a context are counted from its gap; in the paper, from its beginning."""
    attention: bool = True
    """The two levels of attention; without them ``bag`` is all there is, thirty times as quick."""
    bag: bool = True
    """Adds weighted sums of the word vectors, past both levels; not in the paper."""

    @model_validator(mode="after")
    def _divisible(self) -> HattenModelSettings:
        if not (self.attention or self.bag):
            raise ValueError("attention and bag: one of them is needed")
        if self.dimension % self.heads:
            raise ValueError(f"heads: {self.heads} do not divide the dimension {self.dimension}")
        return self


class Documents(NamedTuple):
    """Documents, and the distinct paragraphs they are made of: each once, however many documents hold it."""

    tokens: Tensor
    """(T,) word numbers of all paragraphs, one behind the other, the longest paragraph first."""
    positions: Tensor
    """(T,) places of the words."""
    lengths: Tensor
    """(P,) words of each paragraph."""
    in_context: Tensor
    """(T,) whether a word is of a context."""
    shapes: tuple[tuple[int, int], ...]
    """(rows, columns) of rectangles that hold the paragraphs in order, with hardly any padding."""
    cells: Tensor
    """(S,) the word in each cell of all rectangles, row by row; 0 in cells that are padding."""
    parts: Tensor
    """(D, 3) for each document its title, abstract and context: 1 + the paragraph's place, 0 where there is none."""
    is_query: Tensor
    """(D,) whether a document is a query."""

    def to(self, device: torch.device) -> Documents:
        """The same, with the tensors on a device."""
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
    """Documents as the model takes them.

    Args:
        paragraphs: what there is.
        parts: (D, 3) for each document the places of its title, abstract and context in ``paragraphs``, -1 for none.
            Empty paragraphs count as none; each document must hold one that is not.
        is_query: (D,) whether it is a query.
        settings: of the model.
        bucket: cells of a rectangle, unless one paragraph needs more.
    """
    used = np.unique(parts[parts >= 0])
    used = used[paragraphs.lengths[used] > 0]
    used = used[np.argsort(-paragraphs.lengths[used], kind="stable")]
    some = paragraphs.take(used)
    owner = np.repeat(np.arange(len(used)), some.lengths)
    positions = np.arange(len(owner)) - some.indptr[owner]
    is_context = np.zeros(len(paragraphs) + 1, bool)
    is_context[parts[:, CONTEXT]] = True
    is_context = is_context[used]
    if settings.gap_positions:
        middle = np.where(is_context, settings.positions // 2, 0)
        gaps = np.flatnonzero(some.tokens == GAP)[::-1]  # of several, the first counts
        middle[owner[gaps]] -= positions[gaps] * is_context[owner[gaps]]
        positions = positions + middle[owner]
    place = np.zeros(len(paragraphs) + 1, np.int64)  # the last entry is what -1 finds: no paragraph
    place[used] = np.arange(1, len(used) + 1)
    shapes, cells = _rectangles(some, bucket)
    return Documents(
        torch.from_numpy(some.tokens),
        torch.from_numpy(np.clip(positions, 0, settings.positions - 1)),
        torch.from_numpy(some.lengths),
        torch.from_numpy(is_context[owner]),
        shapes,
        torch.from_numpy(cells),
        torch.from_numpy(place[parts]),
        torch.from_numpy(is_query),
    )


def _rectangles(paragraphs: Paragraphs, bucket: int) -> tuple[tuple[tuple[int, int], ...], NDArray[np.int64]]:
    """Shapes and cells (see :class:`Documents`) of paragraphs that are sorted by length, the longest first."""
    shapes, cells, start = [], [np.zeros(0, np.int64)], 0
    while start < len(paragraphs):
        columns = int(paragraphs.lengths[start])
        end = min(start + max(1, bucket // columns), len(paragraphs))
        at = paragraphs.indptr[start:end, None] + np.arange(columns)
        cells.append(np.where(np.arange(columns) < paragraphs.lengths[start:end, None], at, 0).ravel())
        shapes.append((end - start, columns))
        start = end
    return tuple(shapes), np.concatenate(cells)


def sinusoids(count: int, dimension: int) -> Tensor:
    """(count, d) positional encodings (Vaswani et al. 2017, section 3.5)."""
    rates = torch.exp(torch.arange(0, dimension, 2) * (-math.log(10_000) / dimension))
    angles = torch.arange(count)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)[:, :dimension]


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """(B, H, L, e) from three of them; ``mask`` (B, 1, 1, L) is true where there is something to attend to."""
    if query.device.type != "cpu":
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    # On a CPU and at these lengths, plain products take half the time of the fused kernel's backward pass.
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    seen: Tensor = weights.to(value.dtype) @ value
    return seen


class TransformerLayer(nn.Module):
    """One encoder layer: self-attention and a feed-forward net, each with a residual and a norm behind it."""

    def __init__(self, dimension: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(dimension, 3 * dimension)
        self.output = nn.Linear(dimension, dimension)
        self.widen, self.narrow = nn.Linear(dimension, feed_forward), nn.Linear(feed_forward, dimension)
        self.attention_norm, self.forward_norm = nn.LayerNorm(dimension), nn.LayerNorm(dimension)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, L, d) from (B, L, d); ``mask`` (B, L) is true where there is something to attend to."""
        rows, length, dimension = x.shape
        query, key, value = (
            self.project(x).view(rows, length, 3, self.heads, dimension // self.heads).permute(2, 0, 3, 1, 4)
        )  # (B, H, L, d / H) each
        seen = attention(query, key, value, mask[:, None, None])
        seen = self.output(seen.transpose(1, 2).reshape(rows, length, dimension))
        x = self.attention_norm(x + self.dropout(seen))
        wide = self.narrow(self.dropout(functional.relu(self.widen(x))))
        normed: Tensor = self.forward_norm(x + self.dropout(wide))
        return normed


class MultiHeadPooling(nn.Module):
    """A sequence as one vector (Eq. 1-2): each head weighs the words anew; trainable."""

    def __init__(self, dimension: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.value, self.score = nn.Linear(dimension, dimension), nn.Linear(dimension, heads)
        self.output = nn.Linear(dimension, dimension)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, d) from (B, L, d); each row of ``mask`` (B, L) has at least one true."""
        rows, _, dimension = x.shape
        scores = self.score(x).masked_fill(~mask[:, :, None], -torch.inf)  # (B, L, H)
        weights = functional.softmax(scores, 1).to(x.dtype)
        # The weights of a head sum to one, so its values' mean is the value of its mean: L times fewer products.
        means = weights.transpose(1, 2) @ x  # (B, H, d)
        head = self.value.weight.view(self.heads, dimension // self.heads, dimension)
        values = (
            torch.einsum("bhd,hed->bhe", means, head.to(x.dtype)).reshape(rows, dimension) + self.value.bias
        )
        pooled: Tensor = self.output(functional.relu(values))
        return pooled


class Level(nn.Module):
    """A transformer layer and a pooling: what both levels of the hierarchy are made of."""

    def __init__(self, settings: HattenModelSettings) -> None:
        super().__init__()
        self.layer = TransformerLayer(
            settings.dimension, settings.heads, settings.feed_forward, settings.dropout
        )
        self.pooling = MultiHeadPooling(settings.dimension, settings.heads)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, d) from (B, L, d) and (B, L)."""
        pooled: Tensor = self.pooling(self.layer(x, mask), mask)
        return pooled


class Hatten(nn.Module):
    """Unit vectors of documents.

    Args:
        words: how many word numbers there are.
        settings: size and shape.
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
            # Of these only ratios count; as small as this, they move as fast as the words do.
            self.word_weight = nn.Embedding(words, 1)
            nn.init.constant_(self.word_weight.weight, start)
            self.place_weight = nn.Parameter(torch.full((settings.positions,), start))
            self.type_weight = nn.Parameter(torch.full((2 * len(KINDS),), start))
        if settings.bag and settings.attention:
            self.gate = nn.Parameter(torch.zeros(1))  # attention comes in as it proves useful

    @torch.no_grad()
    def begin_with(self, vectors: Tensor, weights: Tensor) -> None:
        """Take word vectors (W, d), whose components have variance 1, and weights (W,), which are 1 on average."""
        scale = self.settings.dimension**-0.5
        self.words.weight.copy_(vectors * scale)
        if self.settings.bag:
            self.word_weight.weight.copy_(weights[:, None] * scale)

    def forward(self, documents: Documents, attend: bool = True) -> Tensor:
        """(D, d) unit vectors.

        Args:
            documents: what to embed.
            attend: False leaves attention out where there is a bag.
        """
        keep = self._kept(documents)
        if not self.settings.bag:
            return functional.normalize(_wide(self._attended(documents, keep)), dim=1)
        with torch.autocast(documents.tokens.device.type, enabled=False):
            bags = functional.normalize(self._bags(documents, keep), dim=1)
        if not (attend and self.settings.attention) or (not self.training and not self.gate):
            return bags
        attended = functional.normalize(_wide(self._attended(documents, keep)), dim=1)
        # The gate moves as fast as the words do; see ``Hatten.__init__``.
        return functional.normalize(bags + self.gate * self.settings.dimension**0.5 * attended, dim=1)

    def _kept(self, documents: Documents) -> Tensor | None:
        """(T,) whether each word is read; None: all are."""
        if not (self.training and self.settings.word_dropout):
            return None
        keep = torch.rand(len(documents.tokens), device=documents.tokens.device) >= self.settings.word_dropout
        keep[documents.lengths.cumsum(0) - documents.lengths] = True  # no paragraph is left without a word
        return keep

    def _types(self, documents: Documents) -> Tensor:
        """(D, 3) the type of each part."""
        own = documents.is_query[:, None].long() * self.settings.roles
        return torch.arange(len(KINDS), device=own.device) + len(KINDS) * own

    def _attended(self, documents: Documents, keep: Tensor | None) -> Tensor:
        """(D, d) documents through both levels of attention."""
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
            x = (x if half is None else x.to(half)).view(rows, columns, -1)  # then so is all that is added
            paragraphs.append(self.paragraph(x, mask))
        parts = _gathered(_wide(torch.cat(paragraphs)), documents.parts)
        attended: Tensor = self.document(parts + self.types(self._types(documents)), documents.parts > 0)
        return attended

    def _bags(self, documents: Documents, keep: Tensor | None) -> Tensor:
        """(D, d) weighted sums of the words of each paragraph, made unit vectors, weighed by type and summed."""
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
        held = _gathered(functional.normalize(sums, dim=1), documents.parts)  # (D, 3, d)
        return (self.type_weight[self._types(documents)][:, None] @ held)[:, 0]


def _wide(vectors: Tensor) -> Tensor:
    """In at least single precision: norms and sums over documents are taken in it."""
    return vectors.float() if vectors.dtype in (torch.bfloat16, torch.float16) else vectors


def _gathered(paragraphs: Tensor, parts: Tensor) -> Tensor:
    """(D, 3, d) the vectors of each document's parts, 0 where there is none."""
    nothing = paragraphs.new_zeros(1, paragraphs.shape[1])
    return functional.embedding(parts, torch.cat([nothing, paragraphs]))

"""Bags of words, and the vectors of their words: what both networks of Citeomatic are made of (section 3, Eq. 1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cocite.corpus.csr import CSR
from cocite.text.token_lists import TokenLists

SMALLEST = 1e-12
"""Least length that a direction is divided by, as in :func:`torch.nn.functional.normalize`."""


class TokenBags(NamedTuple):
    """A batch of bags: ``types[offsets[i] : offsets[i + 1]]`` are the types of bag i.

    Texts whose words are in order, and may occur again, are held alike.

    Attributes:
        types: (T,) int64.
        offsets: (n + 1,) int64.

    Example:
        >>> bags = TokenBags.of(CSR.build([0, 0, 1], [7, 3, 5], 2))
        >>> bags.types.tolist(), bags.offsets.tolist()
        ([3, 7, 5], [0, 2, 3])
        >>> bags.joined(bags).offsets.tolist()
        [0, 2, 3, 5, 6]
    """

    types: Tensor
    offsets: Tensor

    @classmethod
    def of(cls, bags: CSR | TokenLists, rows: NDArray[np.integer] | None = None) -> TokenBags:
        """All bags of a table, or those of some rows; or texts in order."""
        if isinstance(bags, TokenLists):
            texts = TokenLists.joined([bags if rows is None else bags.take(rows)])
            offsets = np.concatenate([[0], np.cumsum(texts.counts)])
            return cls(torch.from_numpy(texts.ids.astype(np.int64)), torch.from_numpy(offsets))
        if rows is None:
            return cls(
                torch.from_numpy(bags.indices.astype(np.int64)), torch.from_numpy(np.array(bags.indptr))
            )
        _, entries = bags.gather(rows)
        sizes = bags.indptr[np.asarray(rows) + 1] - bags.indptr[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return cls(torch.from_numpy(entries.astype(np.int64)), torch.from_numpy(offsets))

    def owners(self) -> Tensor:
        """(T,) number of the bag of each type."""
        return torch.repeat_interleave(self.offsets.diff(), output_size=len(self.types))

    def dropped(self, rate: float) -> TokenBags:
        """These bags without a share ``rate`` of their types, drawn with torch's generator (word dropout)."""
        if not rate:
            return self
        keep = torch.rand(len(self.types), device=self.types.device) >= rate
        kept_before = functional.pad(keep.cumsum(0), (1, 0))
        return TokenBags(self.types[keep], kept_before[self.offsets])

    def joined(self, other: TokenBags) -> TokenBags:
        """These bags, followed by the other ones."""
        return TokenBags(
            torch.cat([self.types, other.types]),
            torch.cat([self.offsets, other.offsets[1:] + self.offsets[-1]]),
        )

    def to(self, device: torch.device) -> TokenBags:
        """These bags on a device."""
        return TokenBags(self.types.to(device), self.offsets.to(device))


class WordVectors(nn.Module):
    """A vector for each type, as magnitude x direction / |direction| (Eq. 1).

    Args:
        types: size of the vocabulary, V.
        dimension: d.
        sparse: whether gradients are sparse, so that a step changes only the types of its batch (the paper's LazyAdam).

    Example:
        >>> words = WordVectors(types=5, dimension=3)
        >>> sums, used = words.sums(TokenBags.of(CSR.build([0, 0, 2], [1, 4, 4], 3)))
        >>> tuple(sums.shape), tuple(used.shape)  # three bags, two distinct types
        ((3, 3), (2, 3))
        >>> bool(torch.equal(sums[2], used[1])), sums[1].abs().sum().item()  # one word; no word
        (True, 0.0)
    """

    def __init__(self, types: int, dimension: int, *, sparse: bool = True) -> None:
        super().__init__()
        self.sparse = sparse
        self._frozen: Tensor | None = None
        self.magnitude = nn.Parameter(torch.ones(types, 1))
        self.direction = nn.Parameter(torch.randn(types, dimension) / dimension**0.5)

    def forward(self, types: Tensor) -> Tensor:
        """Vectors (U, d) of some distinct types (U,), ascending."""
        vectors: Tensor = _ScaledDirections.apply(self.magnitude, self.direction, types, self.sparse)  # type: ignore[no-untyped-call]
        return vectors

    def table(self) -> Tensor:
        """All vectors (V, d) without gradient, for encoding many bags."""
        if self._frozen is not None:
            return self._frozen
        with torch.no_grad():
            return self.magnitude * functional.normalize(self.direction, dim=1)

    def freeze(self) -> None:
        """Keep the table: the weights of a loaded model do not change, and making it takes half of a query's time."""
        self._frozen = self.table()

    def sums(self, bags: TokenBags) -> tuple[Tensor, Tensor]:
        """The sum of each bag's vectors (Eq. 1), and the distinct vectors it took.

        Returns:
            (n, d) sums, a zero row for an empty bag; (U, d) vectors of the distinct types, for regularisation.
        """
        vectors, row = self.distinct(bags)
        if not len(vectors):
            return vectors.new_zeros(len(bags.offsets) - 1, self.direction.shape[1]), vectors
        sums = functional.embedding_bag(row, vectors, bags.offsets, mode="sum", include_last_offset=True)
        return sums, vectors

    def distinct(self, bags: TokenBags) -> tuple[Tensor, Tensor]:
        """The vectors of the distinct types of a batch, and where each type of the batch is among them.

        Returns:
            (U, d), types ascending; (T,) int64.
        """
        present = torch.zeros(len(self.magnitude), dtype=torch.bool, device=bags.types.device)
        present[bags.types] = True
        row = present.cumsum(0) - 1  # type -> its row among the distinct ones
        return self(present.nonzero().squeeze(1)), row[bags.types]


class _ScaledDirections(torch.autograd.Function):
    """``magnitude[types] * direction[types] / |direction[types]|``, and its gradient, in few passes over memory.

    With v = m d / |d| and u = d / |d|, a gradient g of v gives g . u of m, and m / |d| (g - (g . u) u) of d.
    """

    @staticmethod
    def forward(ctx: Any, magnitude: Tensor, direction: Tensor, types: Tensor, sparse: bool) -> Tensor:
        chosen, factor = direction[types], magnitude[types]  # (U, d), (U, 1)
        norm = torch.linalg.vector_norm(chosen, dim=1, keepdim=True).clamp_min(SMALLEST)
        ctx.sparse, ctx.shapes = sparse, (magnitude.shape, direction.shape)
        ctx.save_for_backward(chosen, factor, norm, types)
        return torch.mul(chosen, factor / norm)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        chosen, factor, norm, types = ctx.saved_tensors
        of_magnitude = torch.bmm(gradient[:, None], chosen[:, :, None])[:, 0] / norm  # (U, 1)
        of_direction = (gradient * (factor / norm)).addcmul_(chosen, -of_magnitude * factor / norm.square())
        return (
            _of_rows(types, of_magnitude, ctx.shapes[0], ctx.sparse),
            _of_rows(types, of_direction, ctx.shapes[1], ctx.sparse),
            None,
            None,
        )


def _of_rows(rows: Tensor, values: Tensor, shape: torch.Size, sparse: bool) -> Tensor:
    """A gradient that is zero but for some distinct ascending rows."""
    if sparse:
        return torch.sparse_coo_tensor(rows[None], values, shape, is_coalesced=True, check_invariants=False)
    return values.new_zeros(shape).index_copy_(0, rows, values)


def embedding_penalty(vectors: Tensor, *, l1: float, l2: float) -> Tensor:
    """L1 and L2 regularisation of the word vectors a batch used (Appendix A).

    ``l1 * mean |v|_1 + l2 * mean |v|_2^2`` over the distinct types (U, d). The mean keeps the strength independent
    of the batch's size.

    Example:
        >>> vectors = torch.tensor([[3.0, -4.0], [0.0, 1.0]])
        >>> round(embedding_penalty(vectors, l1=0.1, l2=0.0).item(), 6)  # 0.1 * (7 + 1) / 2
        0.4
    """
    if not len(vectors):
        # A zero with a gradient, for the loss may have no other part; a mean of nothing is NaN.
        return vectors.sum()
    # Norms of the whole array: they make no array of its size.
    total = l1 * torch.linalg.vector_norm(vectors, 1) + l2 * torch.linalg.vector_norm(vectors, 2).square()
    return torch.div(total, len(vectors))

"""NNSelect: papers as unit vectors, from the words of title and abstract alone (Citeomatic, section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cocite.corpus.csr import CSR


class TokenBags(NamedTuple):
    """A batch of bags: ``types[offsets[i] : offsets[i + 1]]`` are the types of bag i."""

    types: Tensor  # (T,) int64
    offsets: Tensor  # (n + 1,) int64

    @classmethod
    def of(cls, bags: CSR, rows: NDArray[np.int32] | None = None) -> TokenBags:
        """All bags of a table, or those of some rows."""
        if rows is None:
            return cls(
                torch.from_numpy(bags.indices.astype(np.int64)), torch.from_numpy(np.array(bags.indptr))
            )
        _, entries = bags.gather(rows)
        sizes = bags.indptr[np.asarray(rows) + 1] - bags.indptr[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return cls(torch.from_numpy(entries.astype(np.int64)), torch.from_numpy(offsets))

    def dropped(self, rate: float) -> TokenBags:
        """Each type of each bag left out with probability ``rate`` (word dropout)."""
        if not rate:
            return self
        keep = torch.rand(len(self.types)) >= rate
        kept_before = functional.pad(keep.cumsum(0), (1, 0))
        return TokenBags(self.types[keep], kept_before[self.offsets])

    def joined(self, other: TokenBags) -> TokenBags:
        """These bags, then the other ones."""
        return TokenBags(
            torch.cat([self.types, other.types]),
            torch.cat([self.offsets, other.offsets[1:] + self.offsets[-1]]),
        )


class WordVectors(nn.Module):
    """A vector for each type, as magnitude x direction / |direction| (Eq. 1).

    Args:
        types: size of the vocabulary, V.
        dimension: d.
        lazy: sparse gradients, so that a step touches only the types of its batch (the paper's LazyAdam).
    """

    def __init__(self, types: int, dimension: int, *, lazy: bool = True) -> None:
        super().__init__()
        self.lazy = lazy
        self._frozen: Tensor | None = None
        self.magnitude = nn.Parameter(torch.ones(types, 1))
        self.direction = nn.Parameter(torch.randn(types, dimension) / dimension**0.5)

    def forward(self, types: Tensor) -> Tensor:
        """Vectors (U, d) of some types (U,)."""
        direction = functional.embedding(types, self.direction, sparse=self.lazy)
        magnitude = functional.embedding(types, self.magnitude, sparse=self.lazy)
        return magnitude * functional.normalize(direction, dim=1)

    def table(self) -> Tensor:
        """All vectors (V, d), with no gradient: for encoding many bags."""
        if self._frozen is not None:
            return self._frozen
        with torch.no_grad():
            return self.magnitude * functional.normalize(self.direction, dim=1)

    def freeze(self) -> None:
        """Keep the table from now on: weights that are only read give the same one for every query."""
        self._frozen = self.table()

    def sums(self, bags: TokenBags) -> tuple[Tensor, Tensor]:
        """The sum of each bag's vectors (Eq. 1), and the distinct vectors it took.

        Returns:
            (n, d) sums, a zero row for an empty bag; (U, d) vectors of the distinct types, for regularisation.
        """
        present = torch.zeros(len(self.magnitude), dtype=torch.bool)
        present[bags.types] = True
        place = present.cumsum(0) - 1  # type -> its row among the distinct ones
        vectors = self(present.nonzero().squeeze(1))  # (U, d)
        if not len(vectors):
            return vectors.new_zeros(len(bags.offsets) - 1, self.direction.shape[1]), vectors
        sums = functional.embedding_bag(
            place[bags.types], vectors, bags.offsets, mode="sum", include_last_offset=True
        )
        return sums, vectors


def embedding_penalty(vectors: Tensor, *, l1: float, l2: float) -> Tensor:
    """L1 and L2 regularisation of the word vectors a batch used (Appendix A).

    ``l1 * mean |v|_1 + l2 * mean |v|_2^2`` over the distinct types (U, d). The mean keeps the strength independent
    of the batch's size.
    """
    if not len(vectors):
        return vectors.sum()
    return l1 * vectors.abs().sum(1).mean() + l2 * vectors.square().sum(1).mean()


class NNSelect(nn.Module):
    """e = lambda_title * f_title / |f_title| + lambda_abstract * f_abstract / |f_abstract|, made a unit vector.

    f is the sum of a field's word vectors. Queries and candidates share all weights.
    """

    def __init__(self, types: int, dimension: int, *, lazy: bool = True) -> None:
        super().__init__()
        self.words = WordVectors(types, dimension, lazy=lazy)
        self.lambda_title = nn.Parameter(torch.ones(()))
        self.lambda_abstract = nn.Parameter(torch.ones(()))

    @property
    def dimension(self) -> int:
        """d."""
        return self.words.direction.shape[1]

    def _combine(self, fields: Tensor) -> Tensor:
        """Fields (2, n, d) -> unit vectors (n, d); a paper without known words gets the zero vector."""
        unit = functional.normalize(fields, dim=2)
        return functional.normalize(self.lambda_title * unit[0] + self.lambda_abstract * unit[1], dim=1)

    def forward(
        self, title: TokenBags, abstract: TokenBags, word_dropout: float = 0.0
    ) -> tuple[Tensor, Tensor]:
        """Embed a batch for training.

        Returns:
            (n, d) unit vectors; (U, d) the word vectors used, for :func:`embedding_penalty`.
        """
        bags = title.joined(abstract).dropped(word_dropout)
        sums, vectors = self.words.sums(bags)  # (2n, d), (U, d)
        return self._combine(sums.view(2, -1, self.dimension)), vectors

    @torch.no_grad()
    def encode(self, bags: Mapping[str, CSR], *, block: int = 8192) -> NDArray[np.float32]:
        """Unit vectors (n, d) of any number of papers or queries, a block at a time."""
        table = self.words.table()  # (V, d)
        count = len(bags["title"])
        result = np.zeros((count, self.dimension), np.float32)
        if not len(table):
            return result
        for start in range(0, count, block):
            rows = np.arange(start, min(start + block, count), dtype=np.int32)
            joined = TokenBags.of(bags["title"], rows).joined(TokenBags.of(bags["abstract"], rows))
            sums = functional.embedding_bag(
                joined.types, table, joined.offsets, mode="sum", include_last_offset=True
            )
            result[rows] = self._combine(sums.view(2, len(rows), self.dimension)).numpy()
        return result

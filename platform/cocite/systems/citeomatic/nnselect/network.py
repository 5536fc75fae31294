"""NNSelect: papers as unit vectors, from the words of title and abstract alone (Citeomatic, section 3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cocite.corpus.csr import CSR
from cocite.systems.citeomatic.word_bags import TokenBags, WordVectors


class NNSelect(nn.Module):
    """e = lambda_title * f_title / |f_title| + lambda_abstract * f_abstract / |f_abstract|, made a unit vector.

    f is the sum of a field's word vectors. Queries and candidates share all weights.

    Args:
        types: size of the vocabulary.
        dimension: d.
        sparse: whether the word vectors' gradients are sparse.

    Example:
        >>> network = NNSelect(types=100, dimension=8)
        >>> words = CSR.build([0, 0, 1], [5, 17, 5], 3)  # the third paper has no known word
        >>> vectors = network.encode({"title": words, "abstract": words})
        >>> np.linalg.norm(vectors, axis=1).round(4).tolist()
        [1.0, 1.0, 0.0]
    """

    def __init__(self, types: int, dimension: int, *, sparse: bool = True) -> None:
        super().__init__()
        self.words = WordVectors(types, dimension, sparse=sparse)
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

        Args:
            title, abstract: n bags each.
            word_dropout: share of the words that are left out.

        Returns:
            (n, d) unit vectors; (U, d) the word vectors used, for
            :func:`~cocite.systems.citeomatic.word_bags.embedding_penalty`.
        """
        bags = title.joined(abstract).dropped(word_dropout)
        sums, vectors = self.words.sums(bags)  # (2n, d), (U, d)
        return self._combine(sums.view(2, -1, self.dimension)), vectors

    @torch.no_grad()
    def encode(
        self, bags: Mapping[str, CSR], *, rows: slice | None = None, block: int = 8192
    ) -> NDArray[np.float32]:
        """Unit vectors of any number of papers or queries, a block at a time.

        Args:
            bags: title and abstract of N papers or queries.
            rows: a contiguous part of them; all where it is missing.
            block: how many are encoded at a time.

        Returns:
            (n, d), on the CPU.
        """
        table = self.words.table()  # (V, d)
        first, last, _ = (rows or slice(None)).indices(len(bags["title"]))
        result = np.zeros((last - first, self.dimension), np.float32)
        if not len(table):
            return result
        for start in range(first, last, block):
            part = np.arange(start, min(start + block, last), dtype=np.int32)
            joined = (
                TokenBags.of(bags["title"], part)
                .joined(TokenBags.of(bags["abstract"], part))
                .to(table.device)
            )
            sums = functional.embedding_bag(
                joined.types, table, joined.offsets, mode="sum", include_last_offset=True
            )
            result[part - first] = self._combine(sums.view(2, len(part), self.dimension)).cpu().numpy()
        return result

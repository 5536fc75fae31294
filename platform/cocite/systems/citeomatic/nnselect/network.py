"""NNSelect: papers as unit vectors, from the words of title and abstract alone (Citeomatic, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cocite.corpus.csr import CSR
from cocite.systems.citeomatic.nnselect.text_encoders import TextEncoderKind, new_text_encoder
from cocite.systems.citeomatic.word_bags import TokenBags, WordVectors
from cocite.text.token_lists import TokenLists

FieldTexts = Mapping[str, CSR] | Mapping[str, TokenLists]
"""Title and abstract of N papers or queries: bags, or words in order where the network's texts have one."""
WORDS_AT_ONCE = 65_536
"""Words whose vectors in order are held at a time, when many papers are encoded."""
BAGGED_AT_ONCE = 1 << 20
"""Words of the bags that are summed at a time, about: their vectors are not held."""


class NNSelect(nn.Module):
    """e = lambda_title * f_title / |f_title| + lambda_abstract * f_abstract / |f_abstract|, made a unit vector.

    f is the sum of a field's word vectors (Eq. 1), or what a convolution or a recurrent network makes of them in their
    order (section 5). Queries and candidates share all weights.

    Args:
        types: size of the vocabulary.
        dimension: d.
        sparse: whether the word vectors' gradients are sparse.
        encoder: what f is.
        window: words that a position of the convolution sees.

    Example:
        >>> network = NNSelect(types=100, dimension=8)
        >>> words = CSR.build([0, 0, 1], [5, 17, 5], 3)  # the third paper has no known word
        >>> vectors = network.encode({"title": words, "abstract": words})
        >>> np.linalg.norm(vectors, axis=1).round(4).tolist()
        [1.0, 1.0, 0.0]
    """

    def __init__(
        self,
        types: int,
        dimension: int,
        *,
        sparse: bool = True,
        encoder: TextEncoderKind = "bag",
        window: int = 3,
    ) -> None:
        super().__init__()
        self.words = WordVectors(types, dimension, sparse=sparse)
        self.lambda_title = nn.Parameter(torch.ones(()))
        self.lambda_abstract = nn.Parameter(torch.ones(()))
        self.encoder_kind, self.window = encoder, window
        # Last, so that a bag's random start does not depend on it.
        self.texts = new_text_encoder(encoder, dimension, window)

    @property
    def reads_order(self) -> bool:
        """Whether texts are words in order, and not bags."""
        return self.texts is not None

    @property
    def multiplications(self) -> int:
        """Multiplications and additions of one word, forward."""
        return self.dimension + (0 if self.texts is None else self.texts.multiplications)

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
            title, abstract: n bags each, or n texts in order.
            word_dropout: share of the words that are left out.

        Returns:
            (n, d) unit vectors; (U, d) the word vectors used, for
            :func:`~cocite.systems.citeomatic.word_bags.embedding_penalty`.
        """
        bags = title.joined(abstract).dropped(word_dropout)
        if self.texts is None:
            fields, vectors = self.words.sums(bags)  # (2n, d), (U, d)
        else:
            vectors, row = self.words.distinct(bags)
            fields = self.texts(vectors[row], bags)
        return self._combine(fields.view(2, -1, self.dimension)), vectors

    @torch.no_grad()
    def encode(
        self, bags: FieldTexts, *, rows: slice | None = None, block: int = 8192
    ) -> NDArray[np.float32]:
        """Unit vectors of any number of papers or queries, a block at a time.

        Args:
            bags: title and abstract of N papers or queries: bags, or words in order where the network reads those.
            rows: a contiguous part of them; all where it is missing.
            block: the most that are encoded at a time.

        Returns:
            (n, d), on the CPU.
        """
        table = self.words.table()  # (V, d)
        first, last, _ = (rows or slice(None)).indices(len(bags["title"]))
        result = np.zeros((last - first, self.dimension), np.float32)
        if not len(table):
            return result
        for part in self._parts(bags, np.arange(first, last, dtype=np.int32), block):
            joined = (
                TokenBags.of(bags["title"], part)
                .joined(TokenBags.of(bags["abstract"], part))
                .to(table.device)
            )
            fields = (
                functional.embedding_bag(
                    joined.types, table, joined.offsets, mode="sum", include_last_offset=True
                )
                if self.texts is None
                else self.texts(table[joined.types], joined)
            )
            result[part - first] = self._combine(fields.view(2, len(part), self.dimension)).cpu().numpy()
        return result

    def _parts(self, bags: FieldTexts, rows: NDArray[np.int32], block: int) -> Iterator[NDArray[np.int32]]:
        """The rows in parts of at most ``block`` with few words; texts in order are sorted by length."""
        if self.texts is None:
            ends = [bag.indptr for bag in cast(Mapping[str, CSR], bags).values()]
            lengths = np.sum([indptr[rows + 1] - indptr[rows] for indptr in ends], axis=0)
            order, most = np.arange(len(rows)), BAGGED_AT_ONCE
        else:
            texts = cast(Mapping[str, TokenLists], bags)
            lengths = np.sum([lists.counts[rows] for lists in texts.values()], axis=0)
            order, most = np.argsort(lengths, kind="stable"), WORDS_AT_ONCE
        by_words = np.cumsum(lengths[order]) // most
        by_count = np.arange(len(rows)) // block
        yield from np.split(rows[order], np.flatnonzero(np.diff(by_words) | np.diff(by_count)) + 1)

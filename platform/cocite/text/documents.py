"""Packed documents of sentences of tokens, which a hierarchical encoder reads (MP-BERT4CR, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cocite.text.token_lists import TokenLists, spans


@dataclass(frozen=True)
class Documents:
    """D documents with S sentences and T tokens in all, without padding.

    Every sentence ends with the end token, so none is empty, and every document has a sentence.

    Attributes:
        ids: (T,) int64 tokens of all sentences, one behind the other.
        sentences: (S + 1,) int64, sentence i is ``ids[sentences[i] : sentences[i + 1]]``.
        documents: (D + 1,) int64, document i has the sentences ``documents[i] ... documents[i + 1] - 1``.
        vectors: (S, t) vector of each sentence by a frozen trunk; None where no model reads them.

    Example:
        >>> sentences = TokenLists.of([[5, 6, 2], [7, 2], [8, 2]])  # 2 is the end token
        >>> documents = Documents.of(sentences, np.array([0, 2, 3]))
        >>> documents.document_lengths.tolist(), documents.lengths.tolist()
        ([2, 1], [3, 2, 2])
    """

    ids: Tensor
    sentences: Tensor
    documents: Tensor
    vectors: Tensor | None = None

    @classmethod
    def of(cls, sentences: TokenLists, documents: NDArray[np.int64]) -> Documents:
        """Pack the tokens of all sentences, which end with the end token.

        Args:
            sentences: S lists of tokens, document after document.
            documents: (D + 1,) the position of each document's first sentence.
        """
        ids = sentences.ids[spans(sentences.starts, sentences.counts)]
        return cls(
            torch.from_numpy(ids.astype(np.int64)),
            torch.from_numpy(bounds(sentences.counts)),
            torch.from_numpy(np.asarray(documents, np.int64)),
        )

    @staticmethod
    def joined(parts: Sequence[Documents]) -> Documents:
        """The documents of all parts, part after part."""
        if len(parts) == 1:
            return parts[0]
        ids, sentences, documents = (
            [],
            [torch.zeros(1, dtype=torch.int64)],
            [torch.zeros(1, dtype=torch.int64)],
        )
        tokens = count = 0
        for part in parts:
            ids.append(part.ids)
            sentences.append(part.sentences[1:].cpu() + tokens)
            documents.append(part.documents[1:].cpu() + count)
            tokens, count = tokens + len(part.ids), count + len(part.sentences) - 1
        device = parts[0].ids.device
        vectors = [part.vectors for part in parts if part.vectors is not None]
        return Documents(
            torch.cat(ids),
            torch.cat(sentences).to(device),
            torch.cat(documents).to(device),
            torch.cat(vectors) if len(vectors) == len(parts) else None,
        )

    def __len__(self) -> int:
        return len(self.documents) - 1

    @property
    def lengths(self) -> Tensor:
        """(S,) tokens of each sentence."""
        return self.sentences.diff()

    @property
    def document_lengths(self) -> Tensor:
        """(D,) sentences of each document."""
        return self.documents.diff()

    def thinned(self, share: float) -> Documents:
        """The same documents without a share of their tokens, drawn anew each time; end tokens stay.

        Args:
            share: probability that a token is left out.

        Example:
            >>> documents = Documents.of(TokenLists.of([[5, 6, 2], [7, 2]]), np.array([0, 2]))
            >>> documents.thinned(0.999999).ids.tolist()
            [2, 2]
        """
        keep = torch.rand(len(self.ids), device=self.ids.device) >= share
        keep[self.sentences[1:] - 1] = True
        ends = torch.cat([self.sentences.new_zeros(1), keep.cumsum(0)])
        return Documents(self.ids[keep], ends[self.sentences], self.documents, self.vectors)

    @property
    def tokens(self) -> Tensor:
        """(D,) tokens of each document."""
        return self.sentences[self.documents].diff()

    def part(self, numbers: slice) -> Documents:
        """The documents ``numbers.start ... numbers.stop - 1``.

        Example:
            >>> documents = Documents.of(TokenLists.of([[5, 6, 2], [7, 2], [8, 2]]), np.array([0, 2, 3]))
            >>> documents.tokens.tolist(), documents.part(slice(1, 2)).ids.tolist()
            ([5, 2], [8, 2])
        """
        documents = self.documents[numbers.start : numbers.stop + 1]
        first, last = int(documents[0]), int(documents[-1])
        sentences = self.sentences[first : last + 1]
        ids = self.ids[int(sentences[0]) : int(sentences[-1])]
        vectors = None if self.vectors is None else self.vectors[first:last]
        return Documents(ids, sentences - sentences[0], documents - documents[0], vectors)

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Documents:
        """The same documents on another device."""
        ids, sentences, documents = (
            part.to(device, non_blocking=non_blocking) for part in (self.ids, self.sentences, self.documents)
        )
        vectors = None if self.vectors is None else self.vectors.to(device, non_blocking=non_blocking)
        return Documents(ids, sentences, documents, vectors)


def bounds(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """(n + 1,) the begin of each of n runs of some lengths, and the end of the last.

    Example:
        >>> bounds(np.array([2, 3])).tolist()
        [0, 2, 5]
    """
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends

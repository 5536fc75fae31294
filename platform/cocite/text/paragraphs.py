"""Paragraphs of numbered words, and the numbers and types that they have.

A paragraph is the title or abstract of a paper, or the context of a citation; :mod:`cocite.text.paragraph_reader` makes
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = ("title", "abstract", "context")
"""The types of paragraphs; the number of a type is its position here."""
TITLE, ABSTRACT, CONTEXT = range(3)
UNKNOWN, GAP, OTHER, SPECIAL = range(4)
"""Numbers of a word outside the vocabulary, of the gap, of another citation, and of the first word."""


@dataclass(frozen=True)
class Paragraphs:
    """P paragraphs: the words of paragraph i are ``tokens[indptr[i] : indptr[i + 1]]``, in order.

    Both arrays may be memory-mapped, and ``tokens`` of two bytes each; what is taken out has four.

    Example:
        >>> paragraphs = Paragraphs(np.array([0, 2, 5]), np.array([3, 4, 5, 1, 6], np.int32))
        >>> len(paragraphs), paragraphs.lengths.tolist()
        (2, [2, 3])
        >>> paragraphs.rectangle(np.array([0, 1])).tolist()
        [[3, 4, 0], [5, 1, 6]]
    """

    indptr: NDArray[np.int64]
    tokens: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """(P,) words of each paragraph."""
        return np.diff(self.indptr)

    def lengths_at(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Words of the paragraphs at some positions, an array of any shape; 0 where the position is negative."""
        rows = np.asarray(rows, np.int64)
        lengths = self.indptr[np.maximum(rows, -1) + 1] - self.indptr[np.maximum(rows, 0)]
        return np.asarray(lengths * (rows >= 0))

    def take(self, rows: NDArray[Any]) -> Paragraphs:
        """The paragraphs at some positions, in their order."""
        lengths = self.lengths_at(rows)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(ends[-1]) + np.repeat(self.indptr[rows] - ends[:-1], lengths)
        return Paragraphs(ends, self.tokens[at].astype(np.int32, copy=False))

    def rectangle(self, rows: NDArray[Any]) -> NDArray[np.int32]:
        """(n, longest) the words of some paragraphs, one paragraph a row, padded with ``UNKNOWN``."""
        lengths = self.lengths_at(rows)
        columns = np.arange(lengths.max(initial=0))
        inside = columns < lengths[:, None]
        at = np.minimum(self.indptr[rows][:, None] + columns, max(len(self.tokens) - 1, 0))
        return np.where(inside, self.tokens[at], UNKNOWN).astype(np.int32)

    @staticmethod
    def joined(parts: Iterable[Paragraphs]) -> Paragraphs:
        """The paragraphs of all parts, part after part."""
        parts = list(parts)
        lengths = np.concatenate([np.zeros(1, np.int64), *(part.lengths for part in parts)])
        tokens = np.concatenate([np.zeros(0, np.int32), *(part.tokens for part in parts)])
        return Paragraphs(np.cumsum(lengths), tokens)

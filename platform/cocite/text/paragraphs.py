"""Titles, abstracts and citation contexts as sequences of numbered words: what HAtten reads.

Unlike the bags of :mod:`cocite.text.fields` the words keep their order and their repetitions, and the gap of a
context is a word of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = ("title", "abstract", "context")
"""The types of paragraphs; a paragraph's type is its place here."""
TITLE, ABSTRACT, CONTEXT = range(3)
UNKNOWN, GAP, OTHER, SPECIAL = range(4)
"""Numbers of a word not in the vocabulary, the gap, another citation; and of the first that are not special."""


@dataclass(frozen=True)
class Paragraphs:
    """Many paragraphs: the words of paragraph i are ``tokens[indptr[i] : indptr[i + 1]]``, in order."""

    indptr: NDArray[np.int64]
    tokens: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """(P,) words of each."""
        return np.diff(self.indptr)

    def take(self, rows: NDArray[Any]) -> Paragraphs:
        """Some of them, in the order given."""
        lengths = self.lengths[rows]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(ends[-1]) + np.repeat(self.indptr[rows] - ends[:-1], lengths)
        return Paragraphs(ends, self.tokens[at])

    def rectangle(self, rows: NDArray[Any]) -> NDArray[np.int32]:
        """(n, longest) some of them below one another, ``UNKNOWN`` behind the end of each."""
        lengths = self.lengths[rows]
        places = np.arange(lengths.max(initial=0))
        inside = places < lengths[:, None]
        at = np.minimum(self.indptr[rows][:, None] + places, max(len(self.tokens) - 1, 0))
        return np.where(inside, self.tokens[at], UNKNOWN).astype(np.int32)

    @staticmethod
    def joined(parts: Iterable[Paragraphs]) -> Paragraphs:
        """One list below the other."""
        parts = list(parts)
        lengths = np.concatenate([np.zeros(1, np.int64), *(part.lengths for part in parts)])
        tokens = np.concatenate([np.zeros(0, np.int32), *(part.tokens for part in parts)])
        return Paragraphs(np.cumsum(lengths), tokens)

"""Vectors of sentences that were computed once, in an array that need not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SentenceVectors:
    """Vectors of some of the sentences of papers and contexts.

    The sentences are numbered: those of all abstracts first, then those of all bodies, then those of all contexts.

    Attributes:
        rows: (S,) int32 row of each sentence's vector, -1 for a sentence that has none.
        vectors: (n, t) float16, usually memory-mapped.
        mean: (t,) float32 mean of the vectors.
        deviation: (t,) float32 their standard deviation, above 0.
        bodies: number of the first body sentence.
        contexts: number of the first sentence of the contexts.

    Example:
        >>> vectors = SentenceVectors(np.array([1, -1, 0]), np.array([[1.0, 2.0], [3.0, 4.0]], np.float16),
        ...                           np.zeros(2, np.float32), np.ones(2, np.float32), bodies=2, contexts=3)
        >>> vectors.take(np.array([0, -1, 2]))  # -1 is a sentence without words
        array([[3., 4.],
               [0., 0.],
               [1., 2.]], dtype=float16)
        >>> vectors.take(np.array([1]))
        Traceback (most recent call last):
        ValueError: 1 of the sentences have no vector
    """

    rows: NDArray[np.int32]
    vectors: NDArray[np.float16]
    mean: NDArray[np.float32]
    deviation: NDArray[np.float32]
    bodies: int
    contexts: int

    @property
    def width(self) -> int:
        """t."""
        return int(self.vectors.shape[1])

    def take(self, numbers: NDArray[np.int64]) -> NDArray[np.float16]:
        """(k, t) vectors of some sentences, zero for the number -1.

        Raises:
            ValueError: a sentence has no vector.
        """
        result = np.zeros((len(numbers), self.width), np.float16)
        real = np.flatnonzero(numbers >= 0)
        rows = self.rows[numbers[real]]
        if lacking := int((rows < 0).sum()):
            raise ValueError(f"{lacking} of the sentences have no vector")
        result[real] = self.vectors[rows]
        return result

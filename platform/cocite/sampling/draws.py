"""Counter-based random numbers: a number is a function of seed, epoch, example and position, and of nothing else.

Every batch, worker and restart that draws for an example therefore gets the same numbers. They are computed by
SplitMix64's finaliser (Steele, Lea, Flood 2014) from a counter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
STREAM = np.uint64(1 << 32)
"""Numbers of an example in each stream."""
POSITIVES, SEARCHED, NEGATIVES, MANUSCRIPTS, PAPERS = range(1, 6)
"""Offset of each sampler's stream from that of the ``Draws`` it gets, so that one ``Draws`` can serve all samplers."""


def mix_bits(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Values hashed to 64 bits, one to one (SplitMix64's finaliser)."""
    values = values + _GOLDEN
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


def uniform(seed: int, epoch: int, examples: NDArray[np.int64], draws: int) -> NDArray[np.float64]:
    """(n, draws) random numbers in [0, 1) of examples: :meth:`Draws.uniform` of the first stream.

    Example:
        >>> together = uniform(0, 1, np.array([4, 9]), 3)
        >>> np.array_equal(together[1:], uniform(0, 1, np.array([9]), 3))  # the same in any batch
        True
    """
    return Draws(seed, epoch, examples).uniform(draws)


@dataclass(frozen=True)
class Draws:
    """The random numbers of n examples of an epoch.

    A process that draws for several purposes takes a stream for each, so that their numbers are independent.

    Attributes:
        seed: of the training.
        epoch: from 0.
        examples: (n,) the numbers of the examples, 0 or more.
        stream: 0 or more.

    Example:
        >>> draws = Draws(seed=0, epoch=2, examples=np.array([7, 8]))
        >>> draws.uniform(3).round(2)
        array([[0.16, 0.72, 0.19],
               [0.6 , 0.41, 0.2 ]])
        >>> np.array_equal(draws.of(NEGATIVES).uniform(3), draws.uniform(3))
        False
    """

    seed: int
    epoch: int
    examples: NDArray[np.int64]
    stream: int = 0

    def __len__(self) -> int:
        return len(self.examples)

    def of(self, stream: int) -> Draws:
        """The same examples' numbers in the stream that is ``stream`` after this one."""
        return replace(self, stream=self.stream + stream)

    def take(self, index: NDArray[Any]) -> Draws:
        """The numbers of the examples at some indices."""
        return replace(self, examples=self.examples[index])

    def each(self, count: int) -> Draws:
        """The numbers of ``count`` parts of each example, part after part: n * count."""
        return replace(self, examples=(self.examples[:, None] * count + np.arange(count)).ravel())

    def uniform(self, count: int, *, start: int = 0) -> NDArray[np.float64]:
        """(n, count) numbers in [0, 1), at the positions ``start ... start + count - 1``."""
        positions = np.arange(start, start + count, dtype=np.uint64)
        return self._numbers(self._states()[:, None], positions)

    def at(self, owner: NDArray[np.integer], positions: NDArray[np.integer]) -> NDArray[np.float64]:
        """(m,) numbers in [0, 1): number i is that of the example at index ``owner[i]`` at ``positions[i]``."""
        return self._numbers(self._states()[owner], positions.astype(np.uint64))

    def _states(self) -> NDArray[np.uint64]:
        state = mix_bits(mix_bits(np.array([self.seed], np.uint64)) + np.uint64(self.epoch))
        return mix_bits(state + np.asarray(self.examples, np.uint64))

    def _numbers(self, states: NDArray[np.uint64], positions: NDArray[np.uint64]) -> NDArray[np.float64]:
        first = np.uint64(1) + np.uint64(self.stream) * STREAM
        bits = mix_bits(states + _GOLDEN * (positions + first))
        return np.asarray((bits >> np.uint64(11)) * 2.0**-53)

"""Random numbers that hang on what they are for, and on nothing else.

A number is a function of seed, epoch, example and place: whoever asks for it, in whatever batch, worker or restart,
gets the same one. SplitMix64's finaliser (Steele, Lea, Flood 2014) over a counter makes it.
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
"""How far from the stream it is given each sampler's own is: one and the same ``Draws`` may be given to all."""


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each value scattered over 64 bits."""
    values = values + _GOLDEN
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


def uniform(seed: int, epoch: int, examples: NDArray[np.int64], draws: int) -> NDArray[np.float64]:
    """(n, draws) numbers in [0, 1) of some examples: :meth:`Draws.uniform` of the first stream."""
    return Draws(seed, epoch, examples).uniform(draws)


@dataclass(frozen=True)
class Draws:
    """The numbers of n examples of an epoch.

    What draws for several purposes takes a stream for each, so that none sees another's numbers.

    Attributes:
        seed: of the training.
        epoch: from 0.
        examples: (n,) their numbers, 0 or more.
        stream: 0 or more.
    """

    seed: int
    epoch: int
    examples: NDArray[np.int64]
    stream: int = 0

    def __len__(self) -> int:
        return len(self.examples)

    def of(self, stream: int) -> Draws:
        """A stream of the same examples that is so many streams on."""
        return replace(self, stream=self.stream + stream)

    def take(self, places: NDArray[Any]) -> Draws:
        """Those of some of the examples."""
        return replace(self, examples=self.examples[places])

    def each(self, count: int) -> Draws:
        """Those of ``count`` parts of each example, part after part: n * count."""
        return replace(self, examples=(self.examples[:, None] * count + np.arange(count)).ravel())

    def uniform(self, count: int, *, start: int = 0) -> NDArray[np.float64]:
        """(n, count) numbers in [0, 1), at the places from ``start`` on."""
        places = np.arange(start, start + count, dtype=np.uint64)
        return self._numbers(self._states()[:, None], places)

    def at(self, owner: NDArray[np.integer], places: NDArray[np.integer]) -> NDArray[np.float64]:
        """(m,) numbers in [0, 1): at some places, each of the example at ``owner`` among these n."""
        return self._numbers(self._states()[owner], places.astype(np.uint64))

    def _states(self) -> NDArray[np.uint64]:
        state = mixed(mixed(np.array([self.seed], np.uint64)) + np.uint64(self.epoch))
        return mixed(state + np.asarray(self.examples, np.uint64))

    def _numbers(self, states: NDArray[np.uint64], places: NDArray[np.uint64]) -> NDArray[np.float64]:
        first = np.uint64(1) + np.uint64(self.stream) * STREAM
        bits = mixed(states + _GOLDEN * (places + first))
        return np.asarray((bits >> np.uint64(11)) * 2.0**-53)

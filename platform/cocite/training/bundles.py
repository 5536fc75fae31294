"""Contexts of one citing paper bundled into examples, so that its title and abstract are read once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.text.token_lists import spans

BLOCK = 1 << 18
"""Contexts whose bundles are drawn at a time."""


class Bundles:
    """The examples of an epoch: up to ``size`` contexts of one citing paper each, papers in ascending order.

    Which of a paper's contexts come together is drawn for each epoch; how many examples there are is not. The bundles
    of some examples are derived when they are asked for: 4 bytes a context and 8 a citing paper are kept.

    Args:
        citing: (E,) the citing paper of each context, ascending; may be memory-mapped.
        size: most contexts of an example.
        seed: of the draws.
        epoch: of the draws.

    Example:
        >>> bundles = Bundles(np.array([3, 3, 3, 7, 7]), 2, seed=0, epoch=0)
        >>> owner, contexts = bundles.gather(np.arange(len(bundles)))
        >>> np.bincount(owner).tolist(), bundles.citing([1, 2]).tolist()
        ([2, 1, 2], [3, 7])
    """

    def __init__(self, citing: NDArray[np.integer[Any]], size: int, *, seed: int, epoch: int) -> None:
        self._citing, self.size = citing, size
        count = len(citing)
        small: np.dtype[Any] = np.dtype(np.int32 if count < 1 << 31 else np.int64)
        begins = np.flatnonzero(citing[1:] != citing[:-1]) + 1
        # Where each paper's contexts and its examples begin.
        self._first = np.concatenate([[0], begins, [count]]).astype(small) if count else np.zeros(1, small)
        self._example = np.zeros(len(self._first), small)
        np.cumsum(-(-np.diff(self._first) // size), out=self._example[1:])
        # A paper's contexts are bundled in the order of a random permutation of all.
        drawn = np.arange(count, dtype=small)
        np.random.default_rng([seed, epoch]).shuffle(drawn)
        self._place = np.empty(count, small)
        self._place[drawn] = np.arange(count, dtype=small)

    def __len__(self) -> int:
        return int(self._example[-1])

    def _papers(self, examples: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """(n,) the paper of each example, as a number among the citing papers."""
        return np.searchsorted(self._example, examples, side="right") - 1

    def citing(self, examples: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """(n,) the citing paper of each example."""
        return np.asarray(self._citing[self._first[self._papers(examples)]])

    def degrees(self, examples: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """(n,) number of contexts of each example."""
        papers = self._papers(examples)
        before = (np.asarray(examples) - self._example[papers]) * self.size
        counts = self._first[papers + 1] - self._first[papers]
        return np.asarray(np.minimum(counts - before, self.size), np.int64)

    def gather(self, examples: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The contexts of some examples: ``(owner, contexts)``.

        Returns:
            For every context, the position in ``examples`` it came from, and its number; those of an example ascend.
        """
        papers = self._papers(examples)
        starts = self._first[papers].astype(np.int64)
        counts = self._first[papers + 1] - starts
        owner, contexts = np.repeat(np.arange(len(papers)), counts), spans(starts, counts)
        contexts = contexts[np.lexsort((self._place[contexts], owner))]
        within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = within // self.size == (np.asarray(examples) - self._example[papers])[owner]
        owner, contexts = owner[kept], contexts[kept]
        return owner, contexts[np.lexsort((contexts, owner))]

    def sums(self, values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """(n,) the sum of a value of each context (E,) over each example's contexts."""
        result = np.zeros(len(self), np.int64)
        for low, high in self._blocks():
            first, last = int(self._first[low]), int(self._first[high])
            lengths = np.diff(self._first[low : high + 1])
            paper = np.repeat(np.arange(len(lengths)), lengths)
            order = np.lexsort((self._place[first:last], paper))
            within = np.arange(last - first) - np.repeat(self._first[low:high] - first, lengths)
            base = int(self._example[low])
            example = self._example[low + paper] - base + within // self.size
            end = int(self._example[high])
            added = np.bincount(example, np.asarray(values[first:last])[order], minlength=end - base)
            result[base:end] = added.astype(np.int64)
        return result

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of citing papers with about ``BLOCK`` contexts, and at least one paper, each."""
        low, papers = 0, len(self._first) - 1
        while low < papers:
            high = int(np.searchsorted(self._first, int(self._first[low]) + BLOCK, side="right")) - 1
            high = min(max(high, low + 1), papers)
            yield low, high
            low = high

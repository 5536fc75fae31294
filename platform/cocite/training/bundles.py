"""Contexts of one citing paper bundled into examples, so that its title and abstract are read once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import scratch_array, scratch_numbers
from cocite.text.token_lists import spans
from cocite.training.engine.gathering import one_copy
from cocite.training.engine.world import World

BLOCK = 1 << 18
"""Contexts whose bundles are drawn at a time."""


class Bundles:
    """The examples of an epoch: up to ``size`` contexts of one citing paper each, papers in ascending order.

    Which of a paper's contexts come together is drawn for each epoch; how many examples there are is not. The bundles
    of some examples are derived when they are asked for. Their tables, 4 bytes a context and 8 a citing paper, lie in
    temporary files: the ranks of a machine map one copy of them, which rank 0 makes.

    Args:
        citing: (E,) the citing paper of each context, ascending; may be memory-mapped.
        size: most contexts of an example.
        seed: of the draws.
        epoch: of the draws.
        world: the ranks, which make their bundles together; None: this process is alone.

    Example:
        >>> bundles = Bundles(np.array([3, 3, 3, 7, 7]), 2, seed=0, epoch=0)
        >>> owner, contexts = bundles.gather(np.arange(len(bundles)))
        >>> np.bincount(owner).tolist(), bundles.citing([1, 2]).tolist()
        ([2, 1, 2], [3, 7])
    """

    def __init__(
        self,
        citing: NDArray[np.integer[Any]],
        size: int,
        *,
        seed: int,
        epoch: int,
        world: World | None = None,
    ) -> None:
        self._citing, self.size = citing, size
        world = world or World()
        small: np.dtype[Any] = np.dtype(np.int32 if len(citing) < 1 << 31 else np.int64)
        nothing = np.zeros(0, small)
        first, example, place = nothing, nothing, nothing
        if world.first:
            first = _first_contexts(citing, small)
            example = _first_examples(first, size)
            place = _places(len(citing), small, seed, epoch)
        # Where each paper's contexts and its examples begin.
        self._first, self._example = one_copy(first, world), one_copy(example, world)
        # A paper's contexts are bundled in the order of a random permutation of all.
        self._place = one_copy(place, world)

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

    def sums(self, values: NDArray[np.integer[Any]], examples: slice | None = None) -> NDArray[np.int64]:
        """(n,) the sum of a value of each context (E,) over the contexts of each of some examples; None: of all."""
        start, stop, _ = (examples or slice(None)).indices(len(self))
        result = scratch_array(stop - start, np.int64)
        for low, high in self._blocks(start, stop):
            first, last = int(self._first[low]), int(self._first[high])
            lengths = np.diff(self._first[low : high + 1])
            paper = np.repeat(np.arange(len(lengths)), lengths)
            order = np.lexsort((self._place[first:last], paper))
            within = np.arange(last - first) - np.repeat(self._first[low:high] - first, lengths)
            base, end = int(self._example[low]), int(self._example[high])
            example = self._example[low + paper] - base + within // self.size
            added = np.bincount(example, np.asarray(values[first:last])[order], minlength=end - base)
            # The first and the last paper may have examples that are not asked for.
            begin, finish = max(base, start), min(end, stop)
            result[begin - start : finish - start] = added[begin - base : finish - base].astype(np.int64)
        return result

    def _blocks(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Ranges of citing papers that have the examples ``start`` to ``stop``: each of about ``BLOCK`` contexts."""
        if start == stop:
            return
        low, last = (int(paper) for paper in self._papers(np.array([start, stop - 1])))
        while low <= last:
            high = int(np.searchsorted(self._first, int(self._first[low]) + BLOCK, side="right")) - 1
            high = min(max(high, low + 1), last + 1)  # at least one paper
            yield low, high
            low = high


def _first_contexts(citing: NDArray[np.integer[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    """(P + 1,) where the contexts of each of P citing papers begin, and the end of the last."""
    result = scratch_array(1 + sum(map(len, _begins(citing))), dtype)
    papers = 0
    for begins in _begins(citing):
        result[papers : papers + len(begins)] = begins
        papers += len(begins)
    result[papers] = len(citing)
    return result


def _begins(citing: NDArray[np.integer[Any]]) -> Iterator[NDArray[np.int64]]:
    """The contexts that are the first of their paper, block by block."""
    for start in range(0, len(citing), BLOCK):
        part = np.asarray(citing[start : start + BLOCK])
        is_first = np.ones(len(part), bool)
        is_first[0] = not start or part[0] != citing[start - 1]
        is_first[1:] = part[1:] != part[:-1]
        yield start + np.flatnonzero(is_first)


def _first_examples(first: NDArray[Any], size: int) -> NDArray[Any]:
    """(P + 1,) where the examples of each paper begin, given where its contexts do."""
    result = scratch_array(len(first), first.dtype)
    for start in range(0, len(first) - 1, BLOCK):
        counts = np.diff(first[start : start + BLOCK + 1])
        result[start + 1 : start + 1 + len(counts)] = result[start] + np.cumsum(-(-counts // size))
    return result


def _places(count: int, dtype: np.dtype[Any], seed: int, epoch: int) -> NDArray[Any]:
    """(E,) the place of each context in a random permutation of all."""
    drawn, result = scratch_numbers(0, count, dtype), scratch_array(count, dtype)
    np.random.default_rng([seed, epoch]).shuffle(drawn)
    for start in range(0, count, BLOCK):
        part = drawn[start : start + BLOCK]
        result[part] = np.arange(start, start + len(part))
    return result

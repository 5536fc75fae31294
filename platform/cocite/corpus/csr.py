"""Compressed sparse rows: for each paper, a list of papers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cocite.array_files import scratch_array

BLOCK = 1 << 18
"""Rows that are looked at together: what is computed of their entries is in memory, and not that of all rows."""


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ascending distinct values, by sorting: where most are distinct, the hash table of ``np.unique`` is far slower."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


@dataclass(frozen=True)
class CSR:
    """For each of ``len(self)`` rows, the ascending, distinct int32 ``indices[indptr[i] : indptr[i + 1]]``.

    Example:
        >>> from cocite.corpus.csr import CSR
        >>> cites = CSR.build(rows=[2, 2, 1, 2], entries=[1, 0, 0, 1], count=3)  # paper 2 cites 0, 1; paper 1 cites 0
        >>> cites[2].tolist(), cites.degrees.tolist()
        ([0, 1], [0, 1, 2])
        >>> cites.transpose()[0].tolist()  # the papers that cite paper 0
        [1, 2]
        >>> owner, entries = cites.gather([1, 2])
        >>> owner.tolist(), entries.tolist()
        ([0, 1, 1], [0, 0, 1])
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        return self.indices[self.indptr[row] : self.indptr[row + 1]]

    @property
    def degrees(self) -> NDArray[np.int32]:
        """Number of entries of each row."""
        return np.diff(self.indptr).astype(np.int32)

    def degrees_of(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Number of entries of some rows, without those of all."""
        return np.asarray(self.indptr[rows + 1] - self.indptr[rows])

    def gather(self, rows: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The entries of several rows at once, without a Python loop.

        Returns:
            ``(owner, indices)``: for every entry, the position in ``rows`` it came from, and its value.
        """
        rows = np.asarray(rows)
        starts, counts = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        owner = np.repeat(np.arange(len(rows)), counts)
        offset = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return owner, self.indices[np.repeat(starts, counts) + offset]

    def part(self, first: int, last: int) -> CSR:
        """The rows ``first : last``, without copying their entries."""
        indptr = self.indptr[first : last + 1]
        return CSR(indptr - indptr[0], self.indices[indptr[0] : indptr[-1]])

    def blocks(self) -> Iterator[tuple[slice, CSR]]:
        """The rows, :data:`BLOCK` at a time: which they are, and their entries."""
        for first in range(0, len(self), BLOCK):
            last = min(first + BLOCK, len(self))
            yield slice(first, last), self.part(first, last)

    def pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """All (row, entry) pairs as two arrays."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.degrees), np.asarray(self.indices)

    def keep(self, entries: NDArray[np.bool_]) -> CSR:
        """The entries that are marked, aligned with ``indices``; as many rows as before, in files without names."""
        indptr = scratch_array(len(self) + 1, np.int64)
        for rows, part in self.blocks():
            start = self.indptr[rows.start]
            kept = np.cumsum(entries[start : start + len(part.indices)], dtype=np.int64)
            indptr[rows.start + 1 : rows.stop + 1] = indptr[rows.start] + np.append(0, kept)[part.indptr[1:]]
        indices = scratch_array(int(indptr[-1]), np.int32)
        for rows, part in self.blocks():
            start = self.indptr[rows.start]
            kept_entries = part.indices[entries[start : start + len(part.indices)]]
            indices[indptr[rows.start] : indptr[rows.stop]] = kept_entries
        return CSR(indptr, indices)

    def occurrences(self, count: int, rows: NDArray[np.bool_] | None = None) -> NDArray[np.int32]:
        """(count,) how often each value is an entry: of all rows, or of those that are marked.

        Example:
            >>> cites = CSR.build(rows=[2, 2, 1], entries=[1, 0, 0], count=3)
            >>> cites.occurrences(3).tolist(), cites.occurrences(3, np.array([True, True, False])).tolist()
            ([2, 1, 0], [1, 0, 0])
        """
        total = np.zeros(count, np.int32)
        for block, part in self.blocks():
            entries = part.indices if rows is None else part.indices[np.repeat(rows[block], part.degrees)]
            np.add.at(total, entries, 1)
        return total

    def transpose(self, columns: int | None = None) -> CSR:
        """Rows become entries; ``columns`` is the number of rows of the result (default: square)."""
        rows, entries = self.pairs()
        return CSR.build(entries, rows, len(self) if columns is None else columns)

    def contains(self, rows: ArrayLike, values: ArrayLike) -> NDArray[np.bool_]:
        """Whether ``values[i]`` is an entry of row ``rows[i]``, for two broadcastable arrays."""
        return self.find(rows, values) >= 0

    def find(self, rows: ArrayLike, values: ArrayLike) -> NDArray[np.int64]:
        """Where in ``indices`` row ``rows[i]`` has ``values[i]``, for two broadcastable arrays; -1 where it has not."""
        rows, values = np.broadcast_arrays(np.asarray(rows, np.int64), np.asarray(values, np.int64))
        if not len(self.indices):
            return np.full(rows.shape, -1)
        low, end = self.indptr[rows], self.indptr[rows + 1]
        high, last = end, len(self.indices) - 1
        # A binary search in all rows at once: a table of all pairs would take 8 bytes a pair.
        for _ in range(int((end - low).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            before = (middle < high) & (self.indices[np.minimum(middle, last)] < values)
            low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
        return np.where((low < end) & (self.indices[np.minimum(low, last)] == values), low, -1)

    @staticmethod
    def build(rows: ArrayLike, entries: ArrayLike, count: int) -> CSR:
        """Build it from (row, entry) pairs in any order; repeated pairs are kept once."""
        rows, entries = np.asarray(rows, np.int64), np.asarray(entries, np.int64)
        width = int(entries.max()) + 1 if len(entries) else 1
        keys = distinct(rows * width + entries)
        indptr = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(keys // width, minlength=count), out=indptr[1:])
        return CSR(indptr, (keys % width).astype(np.int32))

"""Lists of tokens as views of one long array, which are cut, joined and gathered without a Python loop over tokens."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def spans(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions ``starts[i] ... starts[i] + counts[i] - 1`` of every i, one after the other.

    Example:
        >>> spans(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    positions: NDArray[np.int64] = np.arange(total, dtype=np.int64) + np.repeat(
        starts - (ends - counts), counts
    )
    return positions


def token_runs(lengths: NDArray[np.integer], tokens: int) -> list[slice]:
    """Cut texts, in their order, into runs of a token budget.

    Where neither padding nor threads reward texts of like length, which :func:`cocite.nn.cpu_threads.token_batches`
    puts together, neighbours stay together, and so does what they share.

    Args:
        lengths: (n,) tokens of each text.
        tokens: most of a run; a longer text is a run by itself.

    Example:
        >>> token_runs(np.array([4, 4, 4, 20, 1]), 10)
        [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    starts, filled = [0] if len(lengths) else [], 0
    for number, length in enumerate(np.asarray(lengths).tolist()):
        if filled and filled + length > tokens:
            starts.append(number)
            filled = 0
        filled += length
    return [slice(*pair) for pair in itertools.pairwise([*starts, len(lengths)])] if starts else []


@dataclass(frozen=True)
class TokenLists:
    """n lists of token ids: list i is ``ids[starts[i] : starts[i] + counts[i]]``.

    Attributes:
        ids: int32, of any length; lists may overlap in it or leave gaps.
        starts: (n,) int64.
        counts: (n,) int64.

    Example:
        >>> lists = TokenLists.of([[1, 2, 3], [4, 5]])
        >>> repeated = lists.take(np.array([1, 0, 1])).head(2)
        >>> [repeated[i].tolist() for i in range(3)]
        [[4, 5], [1, 2], [4, 5]]
        >>> TokenLists.joined([lists, lists])[1].tolist()
        [4, 5, 4, 5]
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> TokenLists:
        """Make them of Python lists."""
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        ids = np.fromiter(itertools.chain.from_iterable(lists), np.int32, int(counts.sum()))
        return cls(ids, np.cumsum(counts) - counts, counts)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, i: int) -> NDArray[np.int32]:
        return self.ids[self.starts[i] : self.starts[i] + self.counts[i]]

    def take(self, positions: NDArray[np.integer]) -> TokenLists:
        """The lists at some positions, in their order; no token is copied."""
        return TokenLists(self.ids, self.starts[positions], self.counts[positions])

    def head(self, limit: int | NDArray[np.int64]) -> TokenLists:
        """At most the first ``limit`` tokens of each list."""
        return TokenLists(self.ids, self.starts, np.minimum(self.counts, limit))

    def tail(self, limit: int | NDArray[np.int64]) -> TokenLists:
        """At most the last ``limit`` tokens of each list."""
        counts = np.minimum(self.counts, limit)
        return TokenLists(self.ids, self.starts + self.counts - counts, counts)

    @staticmethod
    def joined(parts: Sequence[TokenLists]) -> TokenLists:
        """Concatenate list i of every part, for each i; all parts have n lists."""
        counts: NDArray[np.int64] = np.stack([part.counts for part in parts]).sum(axis=0)
        starts = np.cumsum(counts) - counts
        ids = np.empty(int(counts.sum()), np.int32)
        position = starts
        for part in parts:
            ids[spans(position, part.counts)] = part.ids[spans(part.starts, part.counts)]
            position = position + part.counts
        return TokenLists(ids, starts, counts)

    @staticmethod
    def stacked(parts: Sequence[TokenLists]) -> TokenLists:
        """The lists of all parts, part after part, without tokens that belong to no list."""
        compact = [TokenLists.joined([part]) for part in parts]
        if not compact:
            return TokenLists.of([])
        ends = np.cumsum([0, *(len(part.ids) for part in compact)])
        return TokenLists(
            np.concatenate([part.ids for part in compact]),
            np.concatenate([part.starts + end for part, end in zip(compact, ends[:-1], strict=True)]),
            np.concatenate([part.counts for part in compact]),
        )

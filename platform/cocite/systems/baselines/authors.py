"""Numbers the authors of a history's papers, as NCN, DualCon and DualEnh read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.systems.baselines.filters import PADDING

UNKNOWN_AUTHOR = 0
"""Number of the authors that are not told apart, and of a paper's whose authors are not known."""


@dataclass(frozen=True)
class AuthorNumbers:
    """Numbers authors by their names.

    Attributes:
        history: whose papers' authors are told apart.
        most: authors that are told apart at most: those of the most papers.
        first: authors read of a paper, the first ones.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> authors = AuthorNumbers(History.all(starter_corpus()), most=20_000, first=2)
        >>> authors.read([("Ashish Vaswani", "No One", "A Third"), ()])[:, 1].tolist()  # unknown, and padding
        [0, -1]
    """

    history: History
    most: int
    first: int

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Name -> number, from 1."""
        rows = np.flatnonzero(self.history.citing)
        lists = self.history.corpus.papers.take("authors", rows)
        counts = Counter(name for names in lists for name in {_plain(name) for name in names})
        ordered = sorted(counts, key=lambda name: (-counts[name], name))
        return {name: number for number, name in enumerate(ordered[: self.most], 1)}

    @property
    def size(self) -> int:
        """Number of numbers."""
        return len(self.numbers) + 1

    def read(self, lists: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """(n, first) the first authors of each list; one unknown author for an empty list."""
        result = np.full((len(lists), self.first), PADDING, np.int64)
        for row, names in zip(result, lists, strict=True):
            numbers = [self.numbers.get(_plain(name), UNKNOWN_AUTHOR) for name in names]
            numbers = numbers[: self.first] or [UNKNOWN_AUTHOR]
            row[: len(numbers)] = numbers
        return result

    def of_papers(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n, first) those of some papers."""
        return self.read(self.history.corpus.papers.take("authors", rows))


def _plain(name: str) -> str:
    return " ".join(name.lower().split())

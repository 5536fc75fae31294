"""Papers drawn evenly from the whole corpus, none later than the citing paper where that is asked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cocite.counting_sort import counting_sort

EARLIEST = 1 << 15
"""Years begin so many before 0."""


class RandomPapers:
    """Draws papers from the whole corpus for citing papers.

    Args:
        years: (N,) of all papers; 0: unknown. May be memory-mapped.
        later: whether papers of a later year than the citing paper are drawn. Where they are not, the papers in the
            order of their years lie in a temporary file, 4 bytes each.

    Example:
        >>> years = np.array([2003, 2001, 0, 2002], np.int16)
        >>> numbers = np.array([[0.0, 0.4, 0.99]])
        >>> RandomPapers(years, later=False).draw(np.array([3]), numbers)  # never the first, of 2003
        array([[2, 1, 3]], dtype=int32)
        >>> RandomPapers(years).draw(np.array([3]), numbers)
        array([[0, 1, 3]], dtype=int32)
    """

    def __init__(self, years: NDArray[np.int16], *, later: bool = True) -> None:
        self._years, self._later = years, later
        if not later:
            self._order, self._ends = counting_sort(years, 2 * EARLIEST, least=-EARLIEST)

    def draw(self, citing: NDArray[np.integer], numbers: NDArray[np.float64]) -> NDArray[np.int32]:
        """(q, r) papers for q citing papers, given (q, r) random numbers in [0, 1); each is drawn evenly."""
        places = (numbers * self._counts(citing)[:, None]).astype(np.int64)
        return np.asarray(places if self._later else self._order[places], np.int32)

    def rows(self, citing: int) -> NDArray[np.int32]:
        """(n,) all papers that may be drawn for a citing paper."""
        count = int(self._counts(np.array([citing]))[0])
        return np.asarray(np.arange(count) if self._later else self._order[:count], np.int32)

    def _counts(self, citing: NDArray[np.integer]) -> NDArray[np.int64]:
        """(q,) how many papers may be drawn for each citing paper: the first so many in the order of the years."""
        if self._later:
            return np.full(len(citing), len(self._years), np.int64)
        years = self._years[citing]
        return np.where(years > 0, self._ends[years.astype(np.int64) + EARLIEST], len(self._years))

"""Which papers a query may retrieve, said so briefly that it can be sent to every shard."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class PaperFilter:
    """The papers that may be retrieved, by year and by row.

    Attributes:
        year_from: papers of an earlier year, or an unknown one, may not.
        year_to: papers of a later year, or an unknown one, may not.
        known_until: papers of a later year may not; those of an unknown one may.
        without: ascending rows that may not.
        only: ascending rows that alone may; None: any.

    Example:
        >>> years = np.array([1999, 2004, 0, 2010])
        >>> PaperFilter(known_until=2004, without=np.array([0])).allowed(years).tolist()
        [False, True, True, False]
        >>> PaperFilter(year_to=2004).allowed(years[2:], first=2).tolist()
        [False, False]
        >>> PaperFilter() == EVERYTHING
        True
    """

    year_from: int | None = None
    year_to: int | None = None
    known_until: int | None = None
    without: NDArray[np.int32] | tuple[()] = ()
    only: NDArray[np.int32] | None = None

    @classmethod
    def rows(cls, rows: ArrayLike, only: ArrayLike | None = None, **years: int | None) -> PaperFilter:
        """A filter without some rows, and with some alone; both are in any order."""
        without = np.unique(np.asarray(rows, np.int32))
        among = None if only is None else np.unique(np.asarray(only, np.int32))
        return cls(**years, without=without if len(without) else (), only=among)

    def until(self, year: int | None) -> PaperFilter:
        """The same filter, also without papers that are known to be later than a year; None: the same."""
        if year is None:
            return self
        return replace(self, known_until=year if self.known_until is None else min(year, self.known_until))

    @property
    def is_open(self) -> bool:
        """Whether every paper may be retrieved."""
        return self.years == (None, None, None) and not len(self.without) and self.only is None

    def allowed(self, years: NDArray[Any], first: int = 0) -> NDArray[np.bool_]:
        """(n,) whether each of the papers ``first : first + n`` may be retrieved.

        Args:
            years: (n,) theirs, 0 where unknown.
            first: row of the first.
        """
        return self.allowed_among(self.by_year(years), first)

    def allowed_among(self, by_year: NDArray[np.bool_], first: int = 0) -> NDArray[np.bool_]:
        """As :meth:`allowed`, given which papers their years allow, (n,); without lists of rows that very array."""
        if self.only is None:
            if not len(self.without):
                return by_year
            result = by_year.copy()
        else:
            result = np.zeros(len(by_year), bool)
            only = _within(self.only, first, len(by_year))
            result[only] = by_year[only]
        result[_within(self.without, first, len(by_year))] = False
        return result

    def allowed_at(self, rows: NDArray[Any], years: NDArray[Any]) -> NDArray[np.bool_]:
        """(k,) whether each of some papers may be retrieved; ``years`` are those of all N papers."""
        result = self.by_year(years[rows]) & ~np.isin(rows, self.without)
        return result if self.only is None else result & np.isin(rows, self.only)

    @property
    def years(self) -> tuple[int | None, int | None, int | None]:
        """What it says of years: filters of equal ones allow the same papers :meth:`by_year`."""
        return self.year_from, self.year_to, self.known_until

    def by_year(self, years: NDArray[Any]) -> NDArray[np.bool_]:
        """(n,) whether papers of some years (n,) may be retrieved, as far as years decide."""
        result = np.ones(len(years), bool)
        if self.year_from is not None:
            result &= years >= self.year_from
        if self.year_to is not None:
            result &= (years > 0) & (years <= self.year_to)
        if self.known_until is not None:
            result &= years <= self.known_until
        return result


def _within(rows: NDArray[np.int32] | tuple[()], first: int, count: int) -> NDArray[np.int64]:
    """Those of some ascending rows that lie in ``first : first + count``, counted from the first."""
    begin, end = np.searchsorted(rows, [first, first + count])
    return np.asarray(rows[begin:end], np.int64) - first


EVERYTHING = PaperFilter()
"""Every paper may be retrieved."""

"""How often papers had been cited when a manuscript was written, year by year, from what a history knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History


@dataclass(frozen=True)
class CitationYears:
    """Counts of a history's links by the year of the citing paper.

    A manuscript knows the links of the years before its own alone, so that neither its own links nor later ones are
    counted. A manuscript that was written after the history ends is taken to be of the year after the history, because
    years that the history does not know would read as years without citations.

    Attributes:
        history: whose links are counted.
        last: years before the manuscript's that are counted apart.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> paper = np.array([corpus.row("vaswani2017attention")])
        >>> years = CitationYears(History.all(corpus), last=2)
        >>> for year in (2017, 2019):  # of the year before, of the one before that, and in all
        ...     print(np.expm1(years.features(paper, np.array([year]))).round().astype(int).tolist())
        [[-1, -1, 0]]
        [[10, 0, 10]]
    """

    history: History
    last: int

    @property
    def width(self) -> int:
        """Number of features."""
        return self.last + 1

    @cached_property
    def _known(self) -> tuple[int, NDArray[np.int32]]:
        """The first year with a link, and (N, Y + 1) links of the years before each of those from it on."""
        citing, cited = self.history.cites.pairs()
        years = self.history.corpus.years[citing].astype(np.int64)
        first = int(years[years > 0].min(initial=self.history.year))
        span = self.history.year - first + 2
        # What an undated paper cites is older than all, as nothing says when it was written.
        column = np.where(years > 0, years - first + 1, 0)
        flat = np.bincount(cited * span + column, minlength=len(self.history.corpus) * span)
        return first, flat.reshape(-1, span).cumsum(axis=1, dtype=np.int32)

    def features(self, rows: NDArray[np.int64], years: NDArray[np.int64]) -> NDArray[np.float32]:
        """(..., last + 1) features of papers for manuscripts of some years, whose shapes go together.

        The logarithm of 1 + the links of the year before the manuscript's, of the one before that, and so on, and of
        all years before it; -1 for a year in which the paper was not yet there.

        Args:
            rows: of papers.
            years: of manuscripts; 0: unknown, all links count.
        """
        first, until = self._known
        end = self.history.year + 1
        now = np.where(years > 0, np.minimum(years, end), end)[..., None] - np.arange(self.last + 1)
        column = np.clip(now - first, 0, until.shape[1] - 1)
        before = until[rows[..., None], column]  # links of the years before each of ``now``
        counts = before[..., :-1] - before[..., 1:]
        there = now[..., 1:] >= self.history.corpus.years[rows][..., None]
        apart = np.where(there, np.log1p(counts), -1)
        return np.concatenate([apart, np.log1p(before[..., :1])], axis=-1).astype(np.float32)

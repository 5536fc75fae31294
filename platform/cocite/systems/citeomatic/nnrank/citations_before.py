"""Counts in-citations as they were known before a year, which a training query of that year may use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History


class CitationsBefore:
    """Counts the citations of any paper from papers of years before any year, by one sorted table of links.

    A citing paper without a year may be later than any query, so no dated query counts its citations.

    Args:
        history: the links that are known.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> history = History.all(starter_corpus())
        >>> query, paper = np.array([400], np.int32), history.in_citations.argmax(keepdims=True).astype(np.int32)
        >>> before, ever = CitationsBefore(history)(query, paper), history.in_citations[paper]
        >>> bool(0 <= before[0] <= ever[0])
        True
    """

    # Above every year, so that the key of a paper and a year sorts by paper first.
    _SPAN = 1 << 16
    # After every year: the year of what is in no year's count.
    _NEVER = _SPAN - 1

    def __init__(self, history: History) -> None:
        self.history = history
        cited_by = history.cited_by
        owners, citing = cited_by.pairs()
        years = np.asarray(history.corpus.years)
        when = np.where(years[citing] > 0, years[citing].astype(np.int64), self._NEVER)
        self._keys = np.sort(owners.astype(np.int64) * self._SPAN + when)
        self._starts = cited_by.indptr
        self._years = years

    def __call__(self, query: NDArray[np.int32], paper: NDArray[np.int32]) -> NDArray[np.int64]:
        """(P,) citations of each paper from years before its query's; of an undated query, all but its own.

        Args:
            query, paper: (P,) rows.
        """
        year = self._years[query].astype(np.int64)
        # A paper's keys begin where its citing papers do, so the difference counts its own alone.
        counts = np.searchsorted(self._keys, paper.astype(np.int64) * self._SPAN + year) - self._starts[paper]
        undated = year <= 0
        if undated.any():
            own = self.history.cites.contains(query[undated], paper[undated])
            counts[undated] = self.history.in_citations[paper[undated]] - own
        return np.asarray(counts, np.int64)

"""What the papers of each venue have cited, and how often."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.retrieval.signals.sparse_scores import SparseScores

KEPT = 1 << 23
"""Counts kept for the next query of a venue, of eight bytes each: 64 MiB."""

Counts = tuple[NDArray[np.int32], NDArray[np.float32]]


class VenueCitations:
    """Counts of what a venue's papers cite, made when they are first asked for; those last asked for are kept.

    Args:
        history: whose links are counted.
        venues: the papers of each venue.
        kept: how many counts are kept; those of the venue that was asked for last, however many they are.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> history = History.all(starter_corpus())
        >>> citations = VenueCitations(history, CSR.build([0, 0], [7, 400], 1))
        >>> cited, times = citations.of(0)
        >>> len(cited), int(times.sum())
        (20, 20)
    """

    def __init__(self, history: History, venues: CSR, kept: int = KEPT) -> None:
        self.history, self.venues, self.kept = history, venues, kept
        self._counts: OrderedDict[int, Counts] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, venue: int) -> Counts:
        """The papers that a venue's papers cite, ascending, and how often; not to be written to."""
        with self._lock:
            if venue in self._counts:
                self._counts.move_to_end(venue)
                return self._counts[venue]
        counts = self._count(venue)
        with self._lock:
            self._counts[venue] = counts
            total = sum(len(cited) for cited, _ in self._counts.values())
            while total > self.kept and len(self._counts) > 1:
                total -= len(self._counts.popitem(last=False)[1][0])
        return counts

    def _count(self, venue: int) -> Counts:
        papers = self.venues[venue]
        once = np.ones(len(papers), np.float32)
        shape = (1, len(self.history.corpus))
        return SparseScores.sum_lists(self.history.cites, np.zeros(len(papers)), papers, once, shape).of(0)

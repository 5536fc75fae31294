"""What venues cite: counted link by link, and kept within bounds."""

from __future__ import annotations

import numpy as np

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.signals.venue_citations import VenueCitations


def test_counts_are_those_of_the_history(corpus: Corpus) -> None:
    history = History.until(corpus, 2006)
    venues = CSR.build(np.arange(80) % 3, np.arange(80), 4)
    citations = VenueCitations(history, venues)
    for venue in range(4):
        expected = np.zeros(80)
        for paper in venues[venue]:
            expected[history.cites[paper]] += 1
        cited, times = citations.of(venue)
        assert cited.tolist() == np.flatnonzero(expected).tolist()
        assert times.tolist() == expected[cited].tolist()


def test_those_asked_for_last_are_kept(corpus: Corpus) -> None:
    history, venues = History.all(corpus), CSR.build(np.arange(80) % 2, np.arange(80), 2)
    roomy, tight = VenueCitations(history, venues), VenueCitations(history, venues, kept=1)
    for citations, same in ((roomy, True), (tight, False)):
        first = citations.of(0)
        assert citations.of(0) is first
        citations.of(1)
        assert (citations.of(0) is first) == same

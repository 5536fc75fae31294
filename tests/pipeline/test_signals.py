"""What signals are computed from: counts, the most cited papers, and who may be a candidate."""

from __future__ import annotations

import dataclasses

import numpy as np

from cocite.corpus.store import Corpus
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.signals import POPULAR, Signals
from cocite.protocols import Query


def test_the_most_cited_papers_are_popular(corpus: Corpus, first: FirstStage) -> None:
    signals = first.signals
    assert signals.popular.tolist() == sorted(set(signals.popular.tolist()))
    for counts in signals.counts.values():
        least = np.sort(counts)[-POPULAR]
        assert set(np.flatnonzero(counts > least)) <= set(signals.popular.tolist())


def test_allowed_papers_are_alive_and_not_too_late(corpus: Corpus, first: FirstStage) -> None:
    signals = first.signals
    assert signals.allowed(Query("q", title="x"), None) is None
    among = np.arange(len(corpus)) % 2 == 0
    np.testing.assert_array_equal(signals.allowed(Query("q", title="x"), among), among)
    year = int(np.median(corpus.years))
    alive = np.arange(len(corpus)) % 3 > 0
    fewer = Signals(dataclasses.replace(first.index, alive=alive))
    limited = fewer.allowed(Query("q", title="x", candidates_until=year), among)
    np.testing.assert_array_equal(limited, alive & among & (corpus.years <= year))
    np.testing.assert_array_equal(fewer.allowed(Query("q", title="x"), None), alive)

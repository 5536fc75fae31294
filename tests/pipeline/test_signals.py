"""What signals are computed from: counts, the most cited papers, and who may be a candidate."""

from __future__ import annotations

import numpy as np

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.signals import POPULAR, Signals
from cocite.retrieval.index.index import Index


def test_the_most_cited_papers_are_popular(corpus: Corpus, first: FirstStage) -> None:
    signals = first.signals
    assert signals.popular.tolist() == sorted(set(signals.popular.tolist()))
    for counts in signals.counts.values():
        least = np.sort(counts)[-POPULAR]
        assert set(np.flatnonzero(counts > least)) <= set(signals.popular.tolist())


def test_contexts_are_counted_by_the_paper_they_cite(corpus: Corpus) -> None:
    counts = np.zeros(len(corpus), int)
    for position in range(len(corpus.contexts)):
        counts[corpus.context_cited[position]] += 1
    signals = Signals(Index.build(corpus, History.all(corpus)))
    np.testing.assert_array_equal(signals.counts["contexts"], counts)

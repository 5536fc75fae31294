"""The signals: cheap scores of every (query, candidate) pair, by name.

Signals measure how well texts match (``form>field``: BM25 of one form of the query against one field), how similar an
encoder's vectors are (its name), how often similar sentences and papers cite the candidate (votes), whether authors and
venue are shared, and how much the candidate is cited at all. The first stage blends a few of them; the learned fusion
reads all of them for the candidates.

:mod:`~cocite.pipeline.dense_signals` computes them for every paper, :mod:`~cocite.pipeline.pooled_signals` for those
that some signal speaks for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import Encoder
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.sharded_retrievers import vector_retriever
from cocite.retrieval.signals.author_signals import AuthorSignals

RECENT_YEARS = 2
"""Years at the end of the history whose citations ``recent-in-citations`` counts."""
POPULAR = 100
"""Papers with the highest counts of each kind, which are candidates of every query."""


class Signals:
    """What the signals of all queries over one index are computed from.

    Args:
        index: papers and history.
        encoders: those whose vectors the index holds; each adds signals of its name.

    Attributes:
        encoders: encode queries, by the encoder's name.
        counts: (N,) each count of citations, by the name of its signal.
        popular: ascending rows of the papers with the highest counts.
        alive: (N,) the papers that are not removed; None where none is.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> signals = Signals(Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> sorted(signals.counts)
        ['contexts', 'in-citations', 'recent-in-citations']
    """

    def __init__(self, index: SearchIndex, encoders: Sequence[Encoder] = ()) -> None:
        self.index = index
        self.encoders = {encoder.name: vector_retriever(index, encoder) for encoder in encoders}
        self.people = AuthorSignals(index)
        self.year = index.history.year
        self.alive = None if index.alive.all() else index.alive
        self.counts: dict[str, NDArray[np.float32]] = {
            "in-citations": index.history.in_citations.astype(np.float32),
            "recent-in-citations": index.history.recent_in_citations(RECENT_YEARS).astype(np.float32),
            "contexts": index.cited_by_context.occurrences(len(index)).astype(np.float32),
        }
        most = min(POPULAR, len(index))
        best = [np.argpartition(-counts, most - 1)[:most] for counts in self.counts.values()] if most else []
        self.popular = np.unique(np.concatenate([np.array([], np.int64), *best])).astype(np.int32)

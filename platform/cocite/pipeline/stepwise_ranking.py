"""The second stage of one query in steps, so that what the cross-encoder reads of several queries is read together.

A query is opened: its candidates are scored by all other components, and the best of them become pairs. Its pairs are
read in chunks, best first, which may be shared with other queries. When it is closed, what was read decides the order:
after n of r pairs the ranking is that of ``Options(rerank=n)``, so a query can be closed before all are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.options import Candidates, Options, Recommendation, Stages, by_kind
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.seeds import with_seeds
from cocite.pipeline.top_candidates import TopCandidates
from cocite.protocols import NO_ROW, Query
from cocite.systems.cross_encoder.query_pairs import QueryPairs
from cocite.systems.cross_encoder.reranker import CrossEncoderReranker


class StepwiseRanking:
    """The second stage of one query, in steps.

    Args:
        stage: the second stage; its cross-encoder, if it has one, is a :class:`CrossEncoderReranker`.
        query: one query.
        candidates: of this query alone.
        options: as for :meth:`SecondStage.rerank`, whose result :meth:`recommendations` returns once all is read.

    Attributes:
        pairs: the query with the candidates that are to be read, best first; None where none are.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.pipeline.first_stage import FirstStage
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> query, options = Query("q", title="Machine translation"), Options(top_k=3, depth=20)
        >>> candidates = FirstStage(index).retrieve([query], options)
        >>> ranking = StepwiseRanking(SecondStage(index), query, candidates, options)  # without a cross-encoder
        >>> ranking.pairs is None, len(ranking.recommendations())
        (True, 3)
    """

    def __init__(self, stage: SecondStage, query: Query, candidates: Candidates, options: Options) -> None:
        self._stage, self._query, self._candidates, self._options = stage, query, candidates, options
        [(self._kind, _)] = by_kind([query])
        self._scores, self._signals = stage.score_all([query], candidates)
        self._last = next(reversed(self._scores))
        self._read: list[NDArray[np.float32]] = []
        self.pairs: QueryPairs | None = None
        if options.rerank and stage.uses_cross_encoder(self._kind):
            rows = self._select(options.rerank).ranking.rows[0]
            self.pairs = required_reader(stage).pairs(query, rows[rows != NO_ROW])

    @property
    def read(self) -> int:
        """How many pairs were read."""
        return sum(len(scores) for scores in self._read)

    def add(self, scores: NDArray[np.float32]) -> None:
        """Take the logits of the next pairs that were read."""
        self._read.append(scores)

    def recommendations(self) -> list[Recommendation]:
        """The papers by all that was read, best first, with scores of each stage and evidence."""
        scores = self._scores
        if self.pairs is not None and self.read:
            top = self._select(self.read)
            signals = self._stage.top_signals(
                top, self._last, self._signals, np.concatenate(self._read)[None]
            )
            weight = self._options.cross_weight
            scores = self._stage.final_scores(self._kind, top, scores, signals, weight)
        name = next(reversed(scores))
        stages = Stages(scores, scores[name], {self._kind: name})
        stages = with_seeds([self._query], self._candidates, stages)
        stages = self._stage.with_confidence([self._query], self._candidates, stages, self._options)
        stages = self._stage.reordering.apply(self._candidates.top.rows, stages, self._options)
        [papers] = self._stage.explainer.recommendations(
            [self._query], self._candidates, stages, self._options
        )
        return papers

    def _select(self, count: int) -> TopCandidates:
        return TopCandidates.select(self._candidates.top.rows, self._scores[self._last], count)


class PairReading(Protocol):
    """Pairs of one query, which are read in chunks.

    Example:
        >>> hasattr(StepwiseRanking, "read"), hasattr(StepwiseRanking, "add")
        (True, True)
    """

    @property
    def pairs(self) -> QueryPairs | None:
        """All of them; None where nothing is to be read."""
        ...

    @property
    def read(self) -> int:
        """How many of them were read."""
        ...

    def add(self, scores: NDArray[np.float32]) -> None:
        """Take the logits of the next pairs that were read."""
        ...


def read_together(stage: SecondStage, parts: Sequence[tuple[PairReading, int]]) -> None:
    """Read the next pairs of several queries in one go.

    Args:
        stage: of all of them.
        parts: a query's reading, and how many of its pairs to read.
    """
    chunk = [
        (reading.pairs, slice(reading.read, reading.read + count))
        for reading, count in parts
        if reading.pairs is not None
    ]
    for (reading, _), scores in zip(parts, required_reader(stage).read(chunk), strict=True):
        reading.add(scores)


def pair_reader(stage: SecondStage) -> CrossEncoderReranker | None:
    """The cross-encoder of a second stage, if it has one.

    Raises:
        TypeError: it scores all candidates of a query at once alone.
    """
    if stage.cross_encoder is None or isinstance(stage.cross_encoder, CrossEncoderReranker):
        return stage.cross_encoder
    raise TypeError(f"{type(stage.cross_encoder).__name__} cannot read the pairs of a query in chunks")


def required_reader(stage: SecondStage) -> CrossEncoderReranker:
    """The cross-encoder of a second stage that has one."""
    reader = pair_reader(stage)
    assert reader is not None, "a query has pairs only where there is a cross-encoder"
    return reader

"""The candidates that a learned fusion is trained on: what the stages before it find and score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import Query, Ranking


class StagedCandidates:
    """A :class:`~cocite.systems.learned_fusion.examples.CandidateSource` made of both stages of the pipeline.

    Args:
        first: over an index whose history ends before the queries.
        second: adds NNRank's score, if it has one; with ``rerank``, the fusion's and the cross-encoder's too.
        depth: candidates of each query that the first stage finds.
        rerank: how many of the best by the second stage's fusion the cross-encoder reads, which are then the
            candidates; 0: all candidates, without the scores of the fusion and the cross-encoder.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> source = StagedCandidates(FirstStage(index), SecondStage(index), depth=10)
        >>> ranking, signals = source.find([Query("q", title="Attention-based machine translation")])
        >>> ranking.rows.shape, signals["whole>text"].shape
        ((1, 10), (1, 10))
    """

    def __init__(self, first: FirstStage, second: SecondStage, *, depth: int, rerank: int = 0) -> None:
        self.first, self.second, self.rerank = first, second, rerank
        self.options = Options(depth=depth, evidence=False)

    def find(self, queries: Sequence[Query]) -> tuple[Ranking, dict[str, NDArray[np.float32]]]:
        """The candidates of queries of one kind, and all their signals."""
        candidates = self.first.retrieve(queries, self.options)
        scores, signals = self.second.score_all(queries, candidates)
        if not self.rerank:
            return candidates.ranking, signals
        top, signals = self.second.score_top(queries, candidates.ranking.rows, scores, signals, self.rerank)
        return top.ranking, signals

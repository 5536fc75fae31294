"""The cross-encoder as a reranker: scores the candidates of many queries together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query, Ranking, require_finite
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.systems.cross_encoder.paper_tokens import PaperTokens


class CrossEncoderReranker:
    """A cross-encoder bound to a corpus. Safe to share among threads.

    Args:
        scorer: the model, frozen.
        corpus: the candidates.
        id_: fingerprint of the model.
    """

    name = "cross-encoder"

    def __init__(self, scorer: PairScorer, corpus: Corpus, id_: str = "") -> None:
        self.scorer, self.corpus, self.id = scorer, corpus, id_
        self.papers = PaperTokens(scorer.pairs, corpus)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of query that its layout is made for."""
        return (self.scorer.pairs.settings.layout,)

    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """Logits (Q, k) of each query's candidates; ``-inf`` at padding.

        They order candidates as the relevance in [0, 1] of the papers does, but two near 1 stay apart. The pairs of all
        queries are scored together, whatever their number of candidates.
        """
        query, column = np.nonzero(candidates.rows != NO_ROW)
        result = np.full(candidates.rows.shape, -np.inf, np.float32)
        if len(query):
            left = self.scorer.pairs.queries(queries).take(query)
            right = self.papers.lists(candidates.rows[query, column])
            scores = self.scorer.logits(left, right)
            require_finite(scores, self.name, "scores")
            result[query, column] = scores
        return result


def load_cross_encoder(folder: str | Path, corpus: Corpus, **options: Any) -> CrossEncoderReranker:
    """Load a cross-encoder from a model folder (or from its ``cross-encoder/``) and bind it.

    Args:
        folder: the model folder, or the artifact.
        corpus: the candidates.
        options: of :class:`PairScorer`: ``precision``, ``threads``, ``device``, ``tokens``.
    """
    model = CrossEncoder.load(folder)
    return CrossEncoderReranker(PairScorer(model, **options), corpus, model.id)

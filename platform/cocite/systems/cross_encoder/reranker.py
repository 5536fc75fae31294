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
    """Scores the candidates of queries with a cross-encoder, reading their texts from a corpus.

    Safe to share among threads.

    Args:
        scorer: the model, frozen.
        corpus: the candidates.
        id_: fingerprint of the model.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.pair_tokenizer import PairSettings, PairTokenizer
        >>> from transformers import BertConfig, BertModel
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> tokenizer = train_wordpiece(lambda: ["graph parsing", "neural parsing"], size=60)
        >>> size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        >>> bert = BertModel(BertConfig(vocab_size=len(tokenizer), **size))
        >>> pairs = PairTokenizer(tokenizer, PairSettings(layout="global", query_tokens=32, candidate_tokens=32))
        >>> scorer = PairScorer(CrossEncoder(bert, pairs), precision="fp32", threads=1)
        >>> reranker = CrossEncoderReranker(scorer, starter_corpus())
        >>> candidates = Ranking(np.array([[5, 9, NO_ROW]], np.int32), np.zeros((1, 3), np.float32))
        >>> np.isfinite(reranker.score([Query("q", title="Parsing")], candidates)).tolist()
        [[True, True, False]]
    """

    name = "cross-encoder"

    def __init__(self, scorer: PairScorer, corpus: Corpus, id_: str = "") -> None:
        self.scorer, self.corpus, self.id = scorer, corpus, id_
        self.papers = PaperTokens(scorer.pairs, corpus)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of query that the model was trained for, ``local`` or ``global``."""
        return (self.scorer.pairs.settings.layout,)

    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """Logits (Q, k) of each query's candidates; ``-inf`` at padding.

        Logits order candidates as their sigmoids do, the relevances in [0, 1], but do not round to the same value near
        1. The pairs of all queries are scored together, whatever their number of candidates.
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
    """Load the reranker of a model folder, or of its ``cross-encoder/``.

    Args:
        folder: the model folder, or the artifact.
        corpus: the candidates.
        options: of :class:`PairScorer`: ``precision``, ``threads``, ``device``, ``tokens``.
    """
    model = CrossEncoder.load(folder)
    return CrossEncoderReranker(PairScorer(model, **options), corpus, model.id)

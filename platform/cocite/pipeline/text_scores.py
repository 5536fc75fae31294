"""The cross-encoder's scores of a query with texts that are in no corpus, read in chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.stepwise_ranking import required_reader
from cocite.protocols import Query


class TextScores:
    """A query with texts in the place of papers; a :class:`~cocite.pipeline.stepwise_ranking.PairReading`.

    Args:
        stage: the second stage, which has a cross-encoder.
        query: one query.
        texts: (r,) read as titles of papers are.
        whole: refuse what is too long for the model, instead of cutting it.

    Attributes:
        pairs: the query with the texts, in their order.

    Raises:
        InputError: the query and a text are too long together, and are to be read whole.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.pipeline.stepwise_ranking import read_together
        >>> from cocite.retrieval.index.index import Index
        >>> from cocite.systems.cross_encoder.network import CrossEncoder
        >>> from cocite.systems.cross_encoder.pair_scorer import PairScorer
        >>> from cocite.systems.cross_encoder.reranker import CrossEncoderReranker
        >>> from cocite.text.pair_tokenizer import PairSettings, PairTokenizer
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> from transformers import BertConfig, BertModel
        >>> tokenizer = train_wordpiece(lambda: ["graph parsing", "neural parsing"], size=60)
        >>> size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        >>> bert = BertModel(BertConfig(vocab_size=len(tokenizer), **size))
        >>> pairs = PairTokenizer(tokenizer, PairSettings(layout="global", query_tokens=32, candidate_tokens=32))
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> reader = CrossEncoderReranker(PairScorer(CrossEncoder(bert, pairs), precision="fp32"), index.corpus)
        >>> stage = SecondStage(index, cross_encoder=reader)
        >>> scores = TextScores(stage, Query("q", title="parsing"), ["graph parsing", "neural parsing"])
        >>> read_together(stage, [(scores, 1)])
        >>> read_together(stage, [(scores, 1)])
        >>> scores.logits.shape
        (2,)
    """

    def __init__(
        self, stage: SecondStage, query: Query, texts: Sequence[str], *, whole: bool = False
    ) -> None:
        self.pairs = required_reader(stage).text_pairs(query, texts, whole=whole)
        self._read: list[NDArray[np.float32]] = []

    @property
    def read(self) -> int:
        """How many pairs were read."""
        return sum(len(scores) for scores in self._read)

    def add(self, scores: NDArray[np.float32]) -> None:
        """Take the logits of the next pairs that were read."""
        self._read.append(scores)

    @property
    def logits(self) -> NDArray[np.float32]:
        """Those of the pairs that were read."""
        return np.concatenate([np.zeros(0, np.float32), *self._read])

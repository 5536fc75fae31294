"""The cross-encoder as a reranker: scores the candidates of many queries together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import NO_ROW, Query, Ranking, require_finite
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.systems.cross_encoder.paper_tokens import PaperTokens
from cocite.systems.cross_encoder.query_pairs import QueryPairs, stack
from cocite.text.token_lists import TokenLists


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

    def pairs(self, query: Query, rows: NDArray[np.int32]) -> QueryPairs:
        """Tokenise a query with some papers (r,), to be read by :meth:`read`."""
        return self._pairs(query, self.papers.lists(rows))

    def text_pairs(self, query: Query, texts: Sequence[str], *, whole: bool = False) -> QueryPairs:
        """Tokenise a query with some texts (r,) in the place of papers, to be read by :meth:`read`.

        Args:
            query: one query.
            texts: read as titles of papers are.
            whole: refuse what is too long for the model, instead of cutting it.

        Raises:
            InputError: the query and a text are too long together, and are to be read whole.
        """
        tokenizer = self.scorer.pairs
        lists = tokenizer.tokens(texts)
        if whole:
            asked = tokenizer.queries([query]).counts[np.zeros(len(texts), np.int64)]
            left, right = tokenizer.cut(asked, lists.counts)
            cut = np.flatnonzero((left < asked) | (right < lists.counts))
            if len(cut):
                tokens = int(asked[0] + lists.counts[cut[0]])
                raise InputError(
                    f"text {int(cut[0])} and the query have {tokens:,} tokens, of which {tokenizer.settings.total:,} "
                    "can be read",
                    where="texts",
                    hint="let them be cut: truncate",
                )
        return self._pairs(query, lists.head(tokenizer.paper_limit))

    def _pairs(self, query: Query, candidates: TokenLists) -> QueryPairs:
        left = self.scorer.pairs.queries([query])
        lengths = self.scorer.pairs.lengths(left.take(np.zeros(len(candidates), np.int64)), candidates)
        return QueryPairs(left, candidates, lengths)

    def read(self, parts: Sequence[tuple[QueryPairs, slice]]) -> list[NDArray[np.float32]]:
        """Logits of some pairs of each of several queries, which are scored together: those of :meth:`score`."""
        scores = self.scorer.logits(*stack(parts))
        require_finite(scores, self.name, "scores")
        counts = [len(range(*part.indices(len(pairs.lengths)))) for pairs, part in parts]
        return np.split(scores, np.cumsum(counts)[:-1])


def load_cross_encoder(folder: str | Path, corpus: Corpus, **options: Any) -> CrossEncoderReranker:
    """Load the reranker of a model folder, or of its ``cross-encoder/``.

    Args:
        folder: the model folder, or the artifact.
        corpus: the candidates.
        options: of :class:`PairScorer`: ``precision``, ``threads``, ``device``, ``tokens``.
    """
    model = CrossEncoder.load(folder)
    return CrossEncoderReranker(PairScorer(model, **options), corpus, model.id)

"""The word counts of shards, and the statistics of all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from cocite.corpus.csr import CSR
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import USUAL, Bm25Settings
from cocite.retrieval.engines.word_statistics import WordStatistics
from cocite.text.tokens import WordTokenizer

BLOCK = 1 << 18
"""Papers whose contexts' words are added up at a time: sums and products need some three times the memory of their
result."""


@dataclass
class SharedVocabulary:
    """The words that several fields and all shards number alike, and how often documents hold them.

    Attributes:
        tokenizer: splits texts into words.
        words: word -> column.
        parts: by field, the statistics of the shards counted so far.

    Example:
        >>> vocabulary = SharedVocabulary()
        >>> for texts in (["chart parsing"], ["neural parsing"]):  # two shards
        ...     numbers = vocabulary.tokenizer.learn(texts, vocabulary.words)
        ...     counts = matrices.counted(*numbers, columns=len(vocabulary.words))
        ...     vocabulary.add({"text": counts})
        >>> vocabulary.index("text", counts).idf.round(2).tolist()
        [0.69, 0.18, 0.69]
    """

    tokenizer: WordTokenizer = field(default_factory=WordTokenizer)
    words: dict[str, int] = field(default_factory=dict)
    parts: dict[str, list[WordStatistics]] = field(default_factory=dict)

    def add(self, counts: Mapping[str, sp.csr_matrix]) -> None:
        """Add the statistics of one shard's documents, given by their word counts in each field."""
        for name, of_field in counts.items():
            self.parts.setdefault(name, []).append(WordStatistics.of(of_field))

    def index(self, name: str, counts: sp.csr_matrix, settings: Bm25Settings = USUAL) -> Bm25Index:
        """BM25 over some documents of a field, weighed by the statistics of all shards.

        The index has no vocabulary: it is asked by the numbers of words.
        """
        statistics = WordStatistics.total(self.parts[name])
        columns = len(self.words)
        padded = np.zeros(columns - len(statistics.holding), np.int64)
        whole = WordStatistics(
            np.concatenate([statistics.holding, padded]), statistics.documents, statistics.words
        )
        return Bm25Index(
            self.tokenizer,
            {},
            matrices.widened(counts, columns),
            whole.idf,
            whole.mean_length,
            k1=settings.k1,
            b=settings.b,
        )

    def without_documents(self, name: str, settings: Bm25Settings = USUAL) -> Bm25Index:
        """The vocabulary and the statistics of a field as an index of no document."""
        empty = self.index(name, sp.csr_matrix((0, len(self.words)), dtype=np.int32), settings)
        return empty.like(self.words, empty.counts, empty.idf)


def anchor_counts(
    documents: Sequence[sp.csr_matrix], cited: Sequence[CSR], first: int, last: int, columns: int
) -> sp.csr_matrix:
    """(n, V) the words of all contexts that cite each of the papers ``first : last``, whichever shard they are in.

    Args:
        documents: the word counts of each shard's contexts.
        cited: the papers that these contexts cite.
        first, last: rows.
        columns: V.
    """
    citing = [_citing(papers, first, last) for papers in cited]
    blocks = []
    for start in range(0, max(last - first, 1), BLOCK):
        total = sp.csr_matrix((min(BLOCK, last - first - start), columns), dtype=np.int32)
        for counts, contexts in zip(documents, citing, strict=True):
            total = total + contexts[start : start + BLOCK] @ matrices.widened(counts, columns)
        total.sort_indices()
        blocks.append(total)
    return sp.csr_matrix(sp.vstack(blocks, format="csr", dtype=np.int32))


def _citing(cited: CSR, first: int, last: int) -> sp.csr_matrix:
    """(n, contexts) 1 where a context cites one of the papers ``first : last``."""
    context, paper = cited.pairs()
    here = (paper >= first) & (paper < last)
    rows, members = paper[here] - first, context[here]
    return sp.csr_matrix((np.ones(len(rows), np.int32), (rows, members)), shape=(last - first, len(cited)))

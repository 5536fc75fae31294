"""The word counts of shards, and the statistics of all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from cocite.corpus.csr import CSR
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import USUAL, Bm25Settings
from cocite.retrieval.engines.packed_counts import FieldCounts
from cocite.retrieval.engines.word_statistics import WordStatistics
from cocite.text.tokens import WordTokenizer

BLOCK = 1 << 16
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
        >>> from cocite.retrieval.engines import matrices
        >>> vocabulary = SharedVocabulary()
        >>> for texts in (["chart parsing"], ["neural parsing"]):  # two shards
        ...     numbers = vocabulary.tokenizer.learn(texts, vocabulary.words)
        ...     counts = matrices.counted(*numbers, columns=len(vocabulary.words))
        ...     vocabulary.add({"text": WordStatistics.of(counts)})
        >>> vocabulary.index("text", FieldCounts.of(counts)).idf.round(2).tolist()
        [0.69, 0.18, 0.69]
    """

    tokenizer: WordTokenizer = field(default_factory=WordTokenizer)
    words: dict[str, int] = field(default_factory=dict)
    parts: dict[str, list[WordStatistics]] = field(default_factory=dict)

    def add(self, statistics: Mapping[str, WordStatistics]) -> None:
        """Add the statistics of one shard's documents in each field."""
        for name, of_field in statistics.items():
            self.parts.setdefault(name, []).append(of_field)

    def index(self, name: str, counts: FieldCounts, settings: Bm25Settings = USUAL) -> Bm25Index:
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
            counts.widened(columns),
            whole.idf,
            whole.mean_length,
            k1=settings.k1,
            b=settings.b,
        )

    def without_documents(self, name: str, settings: Bm25Settings = USUAL) -> Bm25Index:
        """The vocabulary and the statistics of a field as an index of no document."""
        nothing = FieldCounts.of(sp.csr_matrix((0, len(self.words)), dtype=np.int32))
        empty = self.index(name, nothing, settings)
        return empty.like(self.words, empty.counts, empty.idf)


def anchor_counts(
    documents: Sequence[FieldCounts], cited: Iterable[CSR], first: int, last: int, columns: int
) -> Iterator[sp.csr_matrix]:
    """(n, V) the words of all contexts that cite each of some papers, whichever shard they are in, :data:`BLOCK` papers
    at a time.

    Args:
        documents: the word counts of each shard's contexts.
        cited: the papers that these contexts cite.
        first, last: rows of the first of these papers, and behind the last one.
        columns: V.
    """
    citing = [_citing(papers, first, last) for papers in cited]
    for start in range(0, max(last - first, 1), BLOCK):
        total = sp.csr_matrix((min(BLOCK, last - first - start), columns), dtype=np.int32)
        for counts, contexts in zip(documents, citing, strict=True):
            total = total + counts.widened(columns).sums(contexts[start : start + BLOCK])
        total.sort_indices()
        yield total


def _citing(cited: CSR, first: int, last: int) -> sp.csr_matrix:
    """(n, contexts) 1 where a context cites one of the papers ``first : last``."""
    context, paper = cited.pairs()
    here = (paper >= first) & (paper < last)
    rows, members = paper[here] - first, context[here]
    return sp.csr_matrix((np.ones(len(rows), np.int32), (rows, members)), shape=(last - first, len(cited)))

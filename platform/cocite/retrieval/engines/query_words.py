"""The words of a query's texts as an index numbers them, and words that documents are scored without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import distinct
from cocite.retrieval.engines.inverted_lists import TextCounts


@dataclass(frozen=True)
class QueryWords:
    """The words of F texts that a vocabulary knows.

    Attributes:
        words: (S,) their columns, ascending, each once.
        times: (F, S) how often each text has each.

    Example:
        >>> from cocite.retrieval.engines.bm25 import Bm25Index
        >>> index = Bm25Index.build(["chart parsing", "neural parsing"])
        >>> asked = index.query_words(["parsing a parsing chart", "neural nets"])
        >>> asked.words.tolist(), asked.times.tolist()
        ([0, 1, 2], [[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    """

    words: NDArray[np.int64]
    times: NDArray[np.float32]

    @classmethod
    def of(cls, counts: TextCounts) -> QueryWords:
        """The words of all texts that were counted."""
        words = distinct(counts.words)
        times = np.zeros((len(counts), len(words)), np.float32)
        owner = np.repeat(np.arange(len(counts)), np.diff(counts.indptr))
        times[owner, np.searchsorted(words, counts.words)] = counts.times
        return cls(words, times)

    def only(self, texts: Sequence[int]) -> QueryWords:
        """The words of some of the texts."""
        times = self.times[texts]
        used = times.any(axis=0)
        return QueryWords(self.words[used], times[:, used])

    def below(self, columns: int) -> QueryWords:
        """The words of the first columns of the vocabulary: those that a part of the documents knows."""
        known = int(np.searchsorted(self.words, columns))
        return self if known == len(self.words) else QueryWords(self.words[:known], self.times[:, :known])


class Omission(NamedTuple):
    """Words that n documents are scored without.

    Example:
        >>> from cocite.retrieval.engines.bm25 import Bm25Index
        >>> index = Bm25Index.build(["chart parsing", "chart"])
        >>> asked = index.query_words(["parsing"])
        >>> one_less = Omission(np.ones((1, 1), np.float32), np.ones(1, np.float32))
        >>> float(index.scores_at(asked, np.array([0]), one_less)[0, 0])
        0.0
    """

    less: NDArray[np.float32]
    """(n, S) how many occurrences of each of the query's words each document lacks."""
    shorter: NDArray[np.float32]
    """(n,) how many words in all."""

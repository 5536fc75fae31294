"""A cache of the tokens of a corpus's papers, so that a candidate of many queries is tokenised once."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.text.pair_tokenizer import PairTokenizer
from cocite.text.token_lists import TokenLists

CAPACITY = 1 << 26
"""Most tokens in the cache: 256 MB."""
BLOCK = 16_384
"""Papers tokenised at a time."""


class PaperTokens:
    """Title and abstract of a corpus's papers as tokens, made at the first request.

    All tokens are in one array, of which results are views. When it would exceed ``capacity``, the cache is cleared but
    for the papers of the last request. Safe to share among threads.

    Args:
        pairs: makes the tokens.
        corpus: the papers.
        capacity: most tokens in the cache, 4 bytes each.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.pair_tokenizer import PairSettings
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> corpus = starter_corpus()
        >>> tokenizer = train_wordpiece(lambda: corpus.papers.take("title", np.arange(99)), size=300)
        >>> papers = PaperTokens(PairTokenizer(tokenizer, PairSettings()), corpus)
        >>> len(papers.lists(np.array([3, 3, 8])))
        3
    """

    def __init__(self, pairs: PairTokenizer, corpus: Corpus, capacity: int = CAPACITY) -> None:
        self.pairs, self.corpus, self.capacity = pairs, corpus, capacity
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._ids = np.empty(1 << 16, np.int32)
        self._used = 0
        self._starts = np.full(len(self.corpus), -1, np.int64)
        self._counts = np.zeros(len(self.corpus), np.int64)

    def lists(self, rows: NDArray[np.integer]) -> TokenLists:
        """The tokens of some papers, in their order; rows may repeat."""
        with self._lock:
            missing = self._missing(rows)
            if len(missing):
                self._add(missing)
                if self._used > self.capacity:
                    self._clear()
                    self._add(self._missing(rows))
            return TokenLists(self._ids, self._starts[rows], self._counts[rows])

    def _missing(self, rows: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.unique(rows[self._starts[rows] < 0])

    def _add(self, rows: NDArray[np.integer]) -> None:
        for first in range(0, len(rows), BLOCK):
            block = rows[first : first + BLOCK]
            papers = self.corpus.papers
            lists = self.pairs.papers(papers.take("title", block), papers.take("abstract", block))
            lists = TokenLists.joined([lists])  # copies the tokens that were not cut
            end = self._used + len(lists.ids)
            if end > len(self._ids):
                # Earlier results are views of the old array, so it is copied, not resized.
                grown = np.empty(max(end, 2 * len(self._ids)), np.int32)
                grown[: self._used] = self._ids[: self._used]
                self._ids = grown
            self._ids[self._used : end] = lists.ids
            self._starts[block], self._counts[block] = lists.starts + self._used, lists.counts
            self._used = end

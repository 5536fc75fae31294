"""The tokens of a corpus's papers, made once: a candidate of many queries is never tokenised twice."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.text.pair_tokenizer import PairTokenizer
from cocite.text.token_lists import TokenLists

CAPACITY = 1 << 26
"""Tokens kept at most: 256 MB."""
BLOCK = 16_384
"""Papers tokenised at a time."""


class PaperTokens:
    """Title and abstract of a corpus's papers as tokens, made when they are first asked for.

    They lie in one array; an answer is a view of it. When it would outgrow ``capacity``, all are forgotten and only
    what was asked for last is kept. Safe to share among threads.

    Args:
        pairs: makes the tokens.
        corpus: the papers.
        capacity: tokens kept at most, 4 bytes each.
    """

    def __init__(self, pairs: PairTokenizer, corpus: Corpus, capacity: int = CAPACITY) -> None:
        self.pairs, self.corpus, self.capacity = pairs, corpus, capacity
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
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
                    self._forget()
                    self._add(self._missing(rows))
            return TokenLists(self._ids, self._starts[rows], self._counts[rows])

    def _missing(self, rows: NDArray[np.integer]) -> NDArray[np.integer]:
        return np.unique(rows[self._starts[rows] < 0])

    def _add(self, rows: NDArray[np.integer]) -> None:
        for first in range(0, len(rows), BLOCK):
            some = rows[first : first + BLOCK]
            papers = self.corpus.papers
            made = self.pairs.papers(papers.take("title", some), papers.take("abstract", some))
            made = TokenLists.joined([made])  # what was cut leaves no hole
            end = self._used + len(made.ids)
            if end > len(self._ids):
                # Answers given before keep the old array.
                grown = np.empty(max(end, 2 * len(self._ids)), np.int32)
                grown[: self._used] = self._ids[: self._used]
                self._ids = grown
            self._ids[self._used : end] = made.ids
            self._starts[some], self._counts[some] = made.starts + self._used, made.counts
            self._used = end

"""Inverted lists in order of impact: for each word, the documents that hold it, those that it weighs most in first.

A query that may read only so many postings reads those that add most to a score ("score at a time": Anh and Moffat,
2006; Lin and Trotman, 2015, call it anytime ranking). With an unlimited budget the result is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.scratch import SCRATCH

UNLIMITED = 1 << 62
"""A budget that no query reaches."""
SORTERS = 2
"""Threads that order the lists."""
_PARTS = ("indptr", "rows", "weights")
_NO_MASK = matrices.read_only(np.zeros(0, bool))


@dataclass(frozen=True)
class TextCounts:
    """The known words of Q texts, as compressed sparse rows.

    Attributes:
        indptr: (Q + 1,) the words of text i are ``indptr[i] : indptr[i + 1]``.
        words: columns of the vocabulary, ascending within a text, each once.
        times: how often the text has each.

    Example:
        >>> counts = TextCounts.of(np.array([4, 1, 4, 2]), np.array([0, 3, 4]), vocabulary=5)
        >>> counts.words.tolist(), counts.times.tolist(), len(counts)
        ([1, 4, 2], [1.0, 2.0, 1.0], 2)
    """

    indptr: NDArray[np.int64]
    words: NDArray[np.int64]
    times: NDArray[np.float32]

    @classmethod
    def of(cls, numbers: NDArray[Any], indptr: NDArray[Any], vocabulary: int) -> TextCounts:
        """Count the words of texts: those of text i are ``numbers[indptr[i] : indptr[i + 1]]``, in any order."""
        owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        keys, times = np.unique(owner * vocabulary + numbers, return_counts=True)
        ends = np.searchsorted(keys, np.arange(len(indptr)) * vocabulary)
        return cls(ends, keys % max(vocabulary, 1), times.astype(np.float32))

    def __len__(self) -> int:
        return len(self.indptr) - 1


class Best(NamedTuple):
    """The best documents of one query.

    Example:
        >>> Best(np.array([4, 2], np.int32), np.array([2.5, 1.0], np.float32)).rows.tolist()
        [4, 2]
    """

    rows: NDArray[np.int32]
    """(n,) documents, best first."""
    scores: NDArray[np.float32]
    """(n,) what the postings that were read add up to: at most the documents' scores."""

    @classmethod
    def of(cls, parts: Sequence[Best], count: int) -> Best:
        """The ``count`` best documents of several parts; equal scores in order of the row."""
        rows = np.concatenate([np.zeros(0, np.int32), *(part.rows for part in parts)])
        scores = np.concatenate([np.zeros(0, np.float32), *(part.scores for part in parts)])
        order = np.lexsort((rows, -scores))[:count]
        return cls(rows[order], scores[order])


@dataclass(frozen=True)
class InvertedLists:
    """The postings of V words over N documents.

    Attributes:
        indptr: (V + 1,) the postings of word t are ``indptr[t] : indptr[t + 1]``.
        rows: their documents.
        weights: what each adds to a score, positive, descending within a word.
        documents: N.

    Example:
        >>> weights = sp.csr_matrix(np.array([[0.5, 0.0], [0.9, 0.2], [0.0, 0.7]], np.float32))
        >>> lists = InvertedLists.of(weights)
        >>> lists.best(np.array([0, 1]), np.array([1.0, 1.0], np.float32), k=2)
        Best(rows=array([1, 2], dtype=int32), scores=array([1.1, 0.7], dtype=float32))
    """

    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: NDArray[np.float32]
    documents: int

    @classmethod
    def of(cls, weights: sp.csr_matrix) -> InvertedLists:
        """The lists of the (N, V) weights of words in documents."""
        from cocite.retrieval.engines import kernels  # Numba takes half a second to import

        by_word = weights.tocsc()
        indptr = by_word.indptr.astype(np.int64)
        rows, values = by_word.indices.astype(np.int32, copy=False), by_word.data
        # Ranges of about equally many postings, so that the threads end together.
        bounds = np.searchsorted(indptr, np.linspace(0, len(rows), 16 * SORTERS + 1)[1:-1])
        bounds = np.concatenate([[0], np.minimum(bounds, by_word.shape[1]), [by_word.shape[1]]])
        with ThreadPoolExecutor(SORTERS) as pool:
            list(
                pool.map(lambda ends: kernels.order_by_weight(indptr, rows, values, *ends), pairwise(bounds))
            )
        return _lists(indptr, rows, values, weights.shape[0])

    def without(self, kept: NDArray[np.bool_]) -> InvertedLists:
        """The postings of some documents alone, which are numbered anew in their order; the weights stay.

        Args:
            kept: (N,) the documents that remain.
        """
        from cocite.retrieval.engines import kernels

        renumbered = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        count = int(np.count_nonzero(kept[self.rows]))
        indptr, rows, weights = _empty_postings(len(self.indptr) - 1, count)
        kernels.keep_postings(self.indptr, self.rows, self.weights, renumbered, indptr, rows, weights)
        return _lists(indptr, rows, weights, int(kept.sum()))

    def followed_by(self, more: InvertedLists) -> InvertedLists:
        """The lists with more documents behind the present ones; no list is sorted again.

        Args:
            more: theirs, of at least as many words.
        """
        from cocite.retrieval.engines import kernels

        words = len(more.indptr) - 1
        last = np.full(words + 1 - len(self.indptr), self.indptr[-1], np.int64)
        known = matrices.read_only(np.concatenate([self.indptr, last]))
        indptr, rows, weights = _empty_postings(words, len(self.rows) + len(more.rows))
        kernels.merge_postings(
            *(known, self.rows, self.weights, more.indptr, more.rows, more.weights, self.documents),
            *(indptr, rows, weights),
        )
        return _lists(indptr, rows, weights, self.documents + more.documents)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """(V,) how many documents hold each word."""
        return np.diff(self.indptr)

    def best(
        self,
        words: NDArray[Any],
        factors: NDArray[np.float32],
        k: int,
        *,
        budget: int = UNLIMITED,
        forbidden: NDArray[Any] | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Best:
        """The ``k`` best documents of one query; equal scores in order of the document.

        Args:
            words: (S,) the query's words, each once.
            factors: (S,) how often each counts, positive.
            k: how many documents at most.
            budget: about how many postings are read; by default all.
            forbidden: documents that are not retrieved.
            allowed: (N,) the documents that may be; None for all.
        """
        from cocite.retrieval.engines import kernels

        words = np.asarray(words, np.int64)
        factors = np.asarray(factors, np.float32)
        ends = kernels.heads(self.indptr, self.weights, words, factors, budget)
        scores = SCRATCH.take("scores", self.documents, np.float32, 0)
        room = SCRATCH.take("touched", self.documents + 1, np.int32, 0)
        try:
            count, highest = kernels.accumulate(
                self.indptr, self.rows, self.weights, words, factors, ends, scores, room
            )
            if forbidden is not None:
                scores[forbidden] = 0
            mask = _NO_MASK if allowed is None else matrices.read_only(allowed)
            return Best(*kernels.take_best(scores, room[:count], highest, mask, k))
        except BaseException:
            SCRATCH.drop("scores")
            raise

    def dense(self, counts: TextCounts) -> NDArray[np.float32]:
        """(Q, N) the scores of every document for Q texts."""
        from cocite.retrieval.engines import kernels

        scores = np.zeros((len(counts), self.documents), np.float32)
        kernels.add_lists(
            self.indptr, self.rows, self.weights, counts.indptr, counts.words, counts.times, scores
        )
        return scores

    def save(self, folder: Path) -> None:
        """Write the three arrays into a folder."""
        matrices.save_parts(folder, "lists", _PARTS, (self.indptr, self.rows, self.weights))

    @classmethod
    def load(cls, folder: Path, shape: tuple[int, int]) -> InvertedLists:
        """Memory-map what :meth:`save` wrote of N documents and V words.

        Raises:
            ValueError: the arrays do not fit together.
        """
        parts = matrices.load_parts(folder, "lists", _PARTS)
        documents, words = shape
        indptr, rows, weights = parts
        if len(indptr) != words + 1 or len(rows) != len(weights) or indptr[-1] != len(rows):
            raise ValueError(f"{len(rows)} postings of {len(indptr) - 1} words where {words} belong")
        return cls(indptr, rows, weights, documents)


def _empty_postings(
    words: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Room for ``count`` postings of V words."""
    return np.zeros(words + 1, np.int64), np.empty(count, np.int32), np.empty(count, np.float32)


def _lists(
    indptr: NDArray[np.int64], rows: NDArray[np.int32], weights: NDArray[np.float32], documents: int
) -> InvertedLists:
    return InvertedLists(
        matrices.read_only(indptr), matrices.read_only(rows), matrices.read_only(weights), documents
    )

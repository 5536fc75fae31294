"""Inverted lists in order of impact: for each word, the documents that hold it, those that it weighs most in first.

A query that may read only so many postings reads those that add most to a score ("score at a time": Anh and Moffat,
2006; Lin and Trotman, 2015, call it anytime ranking). With an unlimited budget the result is exact.
"""

from __future__ import annotations

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
        indptr, rows, values = map(matrices.read_only, (indptr, rows, values))
        return cls(indptr, rows, values, weights.shape[0])

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
        room = SCRATCH.take("touched", self.documents, np.int32, 0)
        try:
            count = kernels.accumulate(
                self.indptr, self.rows, self.weights, words, factors, ends, scores, room
            )
            touched = room[:count]
            if allowed is not None:
                scores[touched[~allowed[touched]]] = -np.inf
            if forbidden is not None and len(forbidden):
                # A row that no posting touched must stay zero for the next query.
                scores[forbidden] = np.where(scores[forbidden] > 0, -np.inf, scores[forbidden])
            rows = kernels.best_touched(scores, touched, k)
            values = scores[rows]
            kernels.clear(scores, touched)
        except BaseException:
            SCRATCH.drop("scores")
            raise
        return Best(rows, values)

    def dense(self, queries: sp.csr_matrix) -> NDArray[np.float32]:
        """(Q, N) the scores of every document for the word counts (Q, V) of queries."""
        from cocite.retrieval.engines import kernels

        scores = np.zeros((queries.shape[0], self.documents), np.float32)
        kernels.add_lists(
            self.indptr,
            self.rows,
            self.weights,
            queries.indptr.astype(np.int64),
            queries.indices,
            queries.data.astype(np.float32),
            scores,
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

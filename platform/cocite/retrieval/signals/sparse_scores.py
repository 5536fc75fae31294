"""Scores that few papers have: sparse rows over all papers, a row a query."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.retrieval.engines import matrices


@dataclass(frozen=True)
class SparseScores:
    """For each of Q queries, papers with their scores; all others have 0.

    Attributes:
        shape: (Q, N).
        indptr: (Q + 1,) the scores of query i are ``indptr[i] : indptr[i + 1]``.
        papers: ascending within a query.
        values: aligned with ``papers``.

    Example:
        >>> scores = SparseScores.sum([0, 1, 1, 1], [7, 2, 5, 2], [1.0, 0.5, 3.0, 0.25], (2, 9))
        >>> scores.at(np.array([[7, 2], [2, 5]])).tolist()
        [[1.0, 0.0], [0.75, 3.0]]
        >>> scores.best(1, 1).tolist()
        [5]
    """

    shape: tuple[int, int]
    indptr: NDArray[np.int64]
    papers: NDArray[np.int32]
    values: NDArray[np.float32]

    @classmethod
    def sum(cls, queries: Any, papers: Any, values: Any, shape: tuple[int, int]) -> SparseScores:
        """Sum the values of equal (query, paper) pairs, which are in any order."""
        count, width = shape
        keys = np.asarray(queries, np.int64) * width + np.asarray(papers, np.int64)
        unique, inverse = np.unique(keys, return_inverse=True)
        total = np.bincount(inverse, np.asarray(values, np.float64), minlength=len(unique))
        indptr = np.searchsorted(unique, np.arange(count + 1) * np.int64(width))
        return cls(shape, indptr, (unique % max(width, 1)).astype(np.int32), total.astype(np.float32))

    @classmethod
    def sum_lists(
        cls, lists: CSR, queries: Any, rows: Any, values: Any, shape: tuple[int, int]
    ) -> SparseScores:
        """Sum over whole lists: every paper of list ``rows[j]`` gets ``values[j]`` for query ``queries[j]``.

        Args:
            lists: of papers, which all are below N.
            queries: ascending positions of queries.
            rows: which list.
            values: what each of its papers gets.
            shape: (Q, N).
        """
        from cocite.retrieval.engines import kernels  # Numba takes half a second to import

        arrays = matrices.read_only(lists.indptr), matrices.read_only(lists.indices)
        rows, values = np.asarray(rows, np.int64), np.asarray(values, np.float32)
        bounds = np.searchsorted(queries, np.arange(shape[0] + 1)).tolist()
        found = []
        for start, end in itertools.pairwise(bounds):
            listed = kernels.list_entries(*arrays, rows[start:end])
            listed.sort()  # by NumPy, which sorts with vector instructions
            found.append(kernels.sum_entries(listed, values[start:end]))
        return cls.stack(found, shape[1])

    @classmethod
    def stack(cls, rows: Sequence[tuple[NDArray[np.int32], NDArray[np.float32]]], width: int) -> SparseScores:
        """The scores of queries given one by one: ascending papers with their scores; N papers."""
        indptr = np.cumsum([0, *(len(papers) for papers, _ in rows)], dtype=np.int64)
        papers = np.concatenate([np.zeros(0, np.int32), *(papers for papers, _ in rows)])
        values = np.concatenate([np.zeros(0, np.float32), *(values for _, values in rows)])
        return cls((len(rows), width), indptr, papers, values)

    def of(self, query: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The papers of one query, and their scores."""
        part = slice(self.indptr[query], self.indptr[query + 1])
        return self.papers[part], self.values[part]

    def at(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        """(Q, k) the scores of given papers (Q, k); 0 at ``NO_ROW``."""
        result = np.zeros(rows.shape, np.float32)
        for query, wanted in enumerate(rows):
            papers, values = self.of(query)
            if len(papers):
                position = np.minimum(np.searchsorted(papers, wanted), len(papers) - 1)
                result[query] = np.where(papers[position] == wanted, values[position], 0)
        return result

    def best(self, query: int, k: int) -> NDArray[np.int32]:
        """The up to ``k`` papers of the highest positive scores of one query, in no order."""
        papers, values = self.of(query)
        papers, values = papers[values > 0], values[values > 0]
        return papers if len(papers) <= k else papers[np.argpartition(-values, k - 1)[:k]]

    def only(self, queries: NDArray[np.bool_]) -> SparseScores:
        """The scores of some queries (Q,); the others have none."""
        kept = np.repeat(queries, np.diff(self.indptr))
        indptr = np.concatenate([[0], np.cumsum(np.where(queries, np.diff(self.indptr), 0))])
        return SparseScores(self.shape, indptr, self.papers[kept], self.values[kept])

    def dense(self) -> NDArray[np.float32]:
        """(Q, N) all scores."""
        result = np.zeros(self.shape, np.float32)
        result[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.papers] = self.values
        return result

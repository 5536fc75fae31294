"""The ranks of the relevant papers in a ranking: all that a ranking metric depends on.

A ranking of Q queries and k candidates has Q * k cells, of which a handful are relevant. Every metric here
is a function of the ranks of those few, so a run of 27,000 queries x 2,000 candidates (54 million cells) is
reduced, a batch of queries at a time, to one small array, and nothing else of it has to be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Ranking

CELLS = 1 << 22
"""Ranking cells compared at a time by :meth:`Hits.of`: 16 MiB of int32."""
UNRANKED = np.iinfo(np.int32).max
"""The rank of a relevant paper that the ranking does not hold."""


@dataclass(frozen=True)
class Hits:
    """The ranks of the relevant papers of each query.

    Attributes:
        indptr: (Q + 1,) int64, where each query's relevant papers begin.
        ranks: (R,) int32, rank of each relevant paper from 1, ``UNRANKED`` when it is not in the ranking;
            ascending within a query.
        rows: (R,) int32, the relevant papers, aligned with ``ranks``.
        depth: number of candidates that were ranked: a metric cut deeper than this sees no more.
        citing: (Q,) int32, the paper that each query comes from, ``NO_ROW`` where there is none; None: not known.

    Example:
        >>> ranking = Ranking(np.array([[4, 7, 1, 9]], np.int32), np.array([[4, 3, 2, 1]], np.float32))
        >>> hits = Hits.of(ranking, [[1, 7, 30]])
        >>> hits.rows, hits.ranks
        (array([ 7,  1, 30], dtype=int32), array([         2,          3, 2147483647], dtype=int32))
    """

    indptr: NDArray[np.int64]
    ranks: NDArray[np.int32]
    rows: NDArray[np.int32]
    depth: int
    citing: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @classmethod
    def of(
        cls,
        ranking: Ranking,
        relevant: CSR | Sequence[ArrayLike],
        citing: NDArray[np.int32] | None = None,
    ) -> Hits:
        """Look up the relevant papers in a ranking.

        Args:
            ranking: (Q, k); of a paper that stands twice in a row, the first place counts.
            relevant: Q lists of distinct rows, aligned with the ranking.
            citing: (Q,) the paper that each query comes from, if known.

        Raises:
            ValueError: there are more or fewer lists, or citing papers, than rankings.
        """
        relevant = relevant if isinstance(relevant, CSR) else _csr(relevant)
        if len(relevant) != len(ranking):
            raise ValueError(f"{len(ranking)} rankings but {len(relevant)} lists of relevant papers")
        if citing is not None and len(citing) != len(ranking):
            raise ValueError(f"{len(ranking)} rankings but {len(citing)} citing papers")
        owners, rows = relevant.pairs()
        ranks = np.full(len(rows), UNRANKED, np.int32)
        step = max(1, CELLS // max(1, ranking.depth))
        for start in range(0, len(rows) if ranking.depth else 0, step):
            part = slice(start, start + step)
            equal = ranking.rows[owners[part]] == rows[part, None]  # (step, k)
            first = equal.argmax(axis=1)
            # argmax is 0 as well where nothing is equal.
            ranked = equal[np.arange(len(first)), first] & (rows[part] != NO_ROW)
            ranks[part] = np.where(ranked, first + 1, UNRANKED)
        order = np.lexsort((ranks, owners))
        return cls(np.asarray(relevant.indptr), ranks[order], rows[order], ranking.depth, citing)

    @staticmethod
    def concatenate(parts: Sequence[Hits]) -> Hits:
        """The hits of several batches of queries, in order; the depth is the deepest.

        Queries of parts without citing papers have none (``NO_ROW``) where other parts have them.
        """
        if not parts:
            return Hits(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), 0)
        counts = np.concatenate([part.relevant for part in parts])
        return Hits(
            np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
            np.concatenate([part.ranks for part in parts]),
            np.concatenate([part.rows for part in parts]),
            max(part.depth for part in parts),
            _citing(parts),
        )

    @cached_property
    def relevant(self) -> NDArray[np.int64]:
        """(Q,) number of relevant papers of each query."""
        return np.diff(self.indptr)

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """(R,) the query that each relevant paper belongs to."""
        return np.repeat(np.arange(len(self)), self.relevant)

    def queries(self, chosen: NDArray[np.bool_]) -> Hits:
        """The hits of some queries: ``chosen`` is a mask (Q,)."""
        citing = None if self.citing is None else self.citing[chosen]
        return self._subset(self.relevant[chosen], chosen[self.owners], citing)

    def take(self, queries: NDArray[np.int64]) -> Hits:
        """The hits of some queries by position, in the order given."""
        counts = self.relevant[queries]
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[queries] - indptr[:-1], counts)
        citing = None if self.citing is None else self.citing[queries]
        return Hits(indptr, self.ranks[entries], self.rows[entries], self.depth, citing)

    def papers(self, chosen: NDArray[np.bool_]) -> Hits:
        """The same queries with only some papers taken as relevant: ``chosen`` is a mask (R,)."""
        return self._subset(np.bincount(self.owners[chosen], minlength=len(self)), chosen, self.citing)

    def _subset(
        self, counts: NDArray[np.int64], keep: NDArray[np.bool_], citing: NDArray[np.int32] | None
    ) -> Hits:
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        return Hits(indptr, self.ranks[keep], self.rows[keep], self.depth, citing)


def _citing(parts: Sequence[Hits]) -> NDArray[np.int32] | None:
    """The citing papers of the queries of several batches."""
    if all(part.citing is None for part in parts):
        return None
    return np.concatenate(
        [np.full(len(part), NO_ROW, np.int32) if part.citing is None else part.citing for part in parts]
    )


def _csr(lists: Sequence[ArrayLike]) -> CSR:
    arrays = [np.asarray(entries, np.int32) for entries in lists]
    rows = np.repeat(np.arange(len(arrays)), [len(array) for array in arrays])
    return CSR.build(rows, np.concatenate(arrays) if arrays else np.zeros(0, np.int32), len(arrays))

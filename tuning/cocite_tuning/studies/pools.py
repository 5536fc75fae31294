"""Pools: for each query the papers that some choice of parameters may rank high, so that a trial scores these alone.

A paper outside the pool is not ranked, so the ranks are exact as long as no paper outside would rank ahead of a cited
one. The cited papers are always in the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.corpus.csr import CSR
from cocite.evaluation.hits import UNRANKED, Hits
from cocite.protocols import NO_ROW, Ranking
from cocite_tuning.studies.score_cache import save_arrays


def pool_papers(rankings: Sequence[Ranking], cited: CSR) -> CSR:
    """Merge several rankings and the cited papers into one list per query, each paper once, ascending.

    Args:
        rankings: (Q, k) each; k may differ.
        cited: Q lists of rows.

    Returns:
        Q lists of rows.

    Example:
        >>> ranking = Ranking(np.array([[4, 2, NO_ROW]], np.int32), np.array([[2.0, 1.0, -np.inf]], np.float32))
        >>> pool_papers([ranking], CSR.build(np.array([0]), np.array([7]), 1)).indices.tolist()
        [2, 4, 7]
    """
    owners, rows = cited.pairs()
    parts = [(owners.astype(np.int64), rows)]
    for ranking in rankings:
        query, slot = np.nonzero(ranking.rows != NO_ROW)
        parts.append((query, ranking.rows[query, slot]))
    return CSR.build(
        np.concatenate([query for query, _ in parts]), np.concatenate([row for _, row in parts]), len(cited)
    )


@dataclass(frozen=True)
class Pool:
    """The pools of consecutive queries as one flat list of cells, and the cells of the cited papers.

    Attributes:
        papers: Q lists of rows; cell c is entry c of its ``indices``.
        cited: Q lists of rows, each in its query's pool.
        depth: down to which rank the ranks are exact: the depth of the rankings that the pool was made of.

    Example:
        A query with three pooled papers, of which it cites the paper in row 7:

        >>> papers = CSR.build(np.array([0, 0, 0]), np.array([2, 4, 7]), 1)
        >>> pool = Pool(papers, CSR.build(np.array([0]), np.array([7]), 1), depth=3)
        >>> pool.hits(np.array([0.9, 0.1, 0.5])).ranks.tolist()
        [2]
    """

    papers: CSR
    cited: CSR
    depth: int

    @classmethod
    def load(cls, folder: Path, name: str, cited: CSR, depth: int) -> Pool:
        """Open the pools that :meth:`save` wrote."""
        indptr = load_array(folder / f"{name}.indptr.npy", mapped=False)
        return cls(CSR(indptr, load_array(folder / f"{name}.indices.npy", mapped=False)), cited, depth)

    @staticmethod
    def save(folder: Path, name: str, papers: CSR) -> None:
        """Write the pools into a folder."""
        save_arrays(folder, {f"{name}.indptr": papers.indptr, f"{name}.indices": papers.indices})

    def part(self, queries: slice) -> Pool:
        """The pools of consecutive queries alone; their cells are the slice :meth:`cells` of this pool's."""
        return Pool(slice_lists(self.papers, queries), slice_lists(self.cited, queries), self.depth)

    def cells(self, queries: slice) -> slice:
        """The range of the cells of consecutive queries."""
        start, stop, _ = queries.indices(len(self.papers))
        return slice(int(self.papers.indptr[start]), int(self.papers.indptr[stop]))

    @cached_property
    def _targets(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The cells that :meth:`hits` compares for the R (query, cited paper) pairs.

        Returns:
            (R,) the cell of the cited paper; (E,) all cells of its query, pair after pair; (R,) where the cells of each
            pair begin in the latter.
        """
        owners, rows = self.cited.pairs()
        width = np.int64(max(int(self.papers.indices.max(initial=0)), int(rows.max(initial=0))) + 1)
        pool_owners, pool_rows = self.papers.pairs()
        cells = np.searchsorted(pool_owners * width + pool_rows, owners * width + rows)
        counts = self.papers.degrees[owners].astype(np.int64)
        starts = np.cumsum(counts) - counts
        rivals = np.arange(counts.sum()) - np.repeat(starts - self.papers.indptr[owners], counts)
        return cells, rivals, starts

    def hits(self, scores: NDArray[np.floating], ranked: NDArray[np.bool_] | None = None) -> Hits:
        """Rank the cited papers by the scores of all cells; among equal scores the lower row ranks first.

        Args:
            scores: (C,) of every cell.
            ranked: (C,) cells that are ranked at all; all of them by default.
        """
        if ranked is not None:
            scores = np.where(ranked, scores, -np.inf)
        cells, rivals, starts = self._targets
        owners, rows = self.cited.pairs()
        counts = self.papers.degrees[owners]
        own, other = np.repeat(scores[cells], counts), scores[rivals]
        # The cells of a query are in order of their row, so among equals the lower cell is ahead.
        ahead = (other > own) | ((other == own) & (rivals < np.repeat(cells, counts)))
        ranks = np.ones(len(cells), np.int32)
        if len(cells):
            ranks += np.add.reduceat(ahead, starts, dtype=np.int32)
        if ranked is not None:
            ranks[~ranked[cells]] = UNRANKED
        order = np.lexsort((ranks, owners))
        return Hits(np.asarray(self.cited.indptr), ranks[order], rows[order], self.depth)


def slice_lists(lists: CSR, rows: slice) -> CSR:
    """A range of the lists, without a copy of their entries."""
    start, stop, _ = rows.indices(len(lists))
    indptr = lists.indptr[start : stop + 1]
    return CSR(indptr - indptr[0], lists.indices[indptr[0] : indptr[-1]])


def concatenate(pools: Sequence[CSR]) -> CSR:
    """The pools of successive blocks of queries as one."""
    degrees = np.concatenate([pool.degrees for pool in pools])
    indptr = np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)])
    return CSR(indptr, np.concatenate([pool.indices for pool in pools]))

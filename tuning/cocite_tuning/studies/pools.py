"""Pools: of each query the papers that any choice of parameters may rank high, so that a trial need not score them all.

A paper outside the pool has no place, so ranks are exact as long as nothing outside would stand ahead. A cited paper is
always in it.
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
from cocite_tuning.studies.score_study import save


def pooled(rankings: Sequence[Ranking], cited: CSR) -> CSR:
    """For each query the papers of several rankings and those it cites, each once, ascending.

    Args:
        rankings: (Q, k) each; k may differ.
        cited: Q lists.
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
    """The pools of consecutive queries as one flat list of cells, and where the cited papers stand in it.

    Attributes:
        papers: Q lists of rows; cell c is entry c of its ``indices``.
        cited: Q lists of rows, each in its query's pool.
        depth: how deep the ranks can be trusted: as many papers as each ranking gave to the pool.
    """

    papers: CSR
    cited: CSR
    depth: int

    @classmethod
    def load(cls, folder: Path, name: str, cited: CSR, depth: int) -> Pool:
        """Open what :meth:`keep` wrote."""
        indptr = load_array(folder / f"{name}.indptr.npy", mapped=False)
        return cls(CSR(indptr, load_array(folder / f"{name}.indices.npy", mapped=False)), cited, depth)

    @staticmethod
    def keep(folder: Path, name: str, papers: CSR) -> None:
        """Write the pools into a folder."""
        save(folder, {f"{name}.indptr": papers.indptr, f"{name}.indices": papers.indices})

    def part(self, queries: slice) -> Pool:
        """The pools of consecutive queries alone; its cells are :meth:`cells` of this one's."""
        return Pool(consecutive(self.papers, queries), consecutive(self.cited, queries), self.depth)

    def cells(self, queries: slice) -> slice:
        """Where the cells of consecutive queries lie."""
        start, stop, _ = queries.indices(len(self.papers))
        return slice(int(self.papers.indptr[start]), int(self.papers.indptr[stop]))

    @cached_property
    def _targets(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(R,) cell of each cited paper; (E,) each cell of its query, pair after pair; (R,) where a pair's begin."""
        owners, rows = self.cited.pairs()
        width = np.int64(max(int(self.papers.indices.max(initial=0)), int(rows.max(initial=0))) + 1)
        holders, held = self.papers.pairs()
        cells = np.searchsorted(holders * width + held, owners * width + rows)
        counts = self.papers.degrees[owners].astype(np.int64)
        begins = np.cumsum(counts) - counts
        rivals = np.arange(counts.sum()) - np.repeat(begins - self.papers.indptr[owners], counts)
        return cells, rivals, begins

    def hits(self, scores: NDArray[np.floating], found: NDArray[np.bool_] | None = None) -> Hits:
        """Where the cited papers stand, equal scores in order of the row.

        Args:
            scores: (C,) of every cell.
            found: (C,) cells that have a rank at all; every one by default.
        """
        if found is not None:
            scores = np.where(found, scores, -np.inf)
        cells, rivals, begins = self._targets
        owners, rows = self.cited.pairs()
        counts = self.papers.degrees[owners]
        mine, theirs = np.repeat(scores[cells], counts), scores[rivals]
        # The cells of a query are in order of their row, so of equals those of a lower cell stand ahead.
        ahead = (theirs > mine) | ((theirs == mine) & (rivals < np.repeat(cells, counts)))
        ranks = np.ones(len(cells), np.int32)
        if len(cells):
            ranks += np.add.reduceat(ahead, begins, dtype=np.int32)
        if found is not None:
            ranks[~found[cells]] = UNRANKED
        order = np.lexsort((ranks, owners))
        return Hits(np.asarray(self.cited.indptr), ranks[order], rows[order], self.depth)


def consecutive(lists: CSR, rows: slice) -> CSR:
    """Some consecutive lists, without a copy of their entries."""
    start, stop, _ = rows.indices(len(lists))
    indptr = lists.indptr[start : stop + 1]
    return CSR(indptr - indptr[0], lists.indices[indptr[0] : indptr[-1]])


def joined(pools: Sequence[CSR]) -> CSR:
    """The pools of blocks of queries, one behind the other."""
    degrees = np.concatenate([pool.degrees for pool in pools])
    indptr = np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)])
    return CSR(indptr, np.concatenate([pool.indices for pool in pools]))

"""The candidates that NNRank orders: NNSelect's neighbours, and what they cite (Citeomatic, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.protocols import NO_ROW, Ranking
from cocite.sampling.neighbours import with_citations
from cocite.systems.citeomatic.nnrank.cross_fitting import FoldVectors
from cocite.systems.citeomatic.nnrank.recipe import NNRankCandidateSettings
from cocite.training.neighbour_search import NeighbourSearch


@dataclass(frozen=True)
class NeighbourCandidates:
    """Finds the candidates of papers of a corpus.

    Attributes:
        history: the links that are known.
        settings: how many neighbours, and whether what they cite is added.
        vectors: (N, d) NNSelect's vectors of all papers.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> history = History.all(starter_corpus())
        >>> vectors = np.random.default_rng(0).normal(size=(len(history.corpus), 8)).astype(np.float32)
        >>> finder = NeighbourCandidates(history, NNRankCandidateSettings(neighbours=5, expand=False), vectors)
        >>> finder.dev(np.array([3, 4], np.int32)).rows.shape
        (2, 5)
    """

    history: History
    settings: NNRankCandidateSettings
    vectors: NDArray[np.float32]

    def dev(self, queries: NDArray[np.int32]) -> Ranking:
        """(Q, M) candidates of dev queries."""
        return self._find(self.vectors, queries, None)

    def training(
        self, queries: NDArray[np.int32], folds: FoldVectors, *, temporal: bool
    ) -> NDArray[np.int32]:
        """Candidates of training queries, in the space of each query's fold.

        Args:
            queries: (Q,) rows.
            folds: vectors that have not seen the queries' citations.
            temporal: whether candidates are no later than their query.

        Returns:
            (Q, M) rows, padded with ``NO_ROW``.
        """
        years = np.asarray(self.history.corpus.years)
        latest = np.where(years[queries] > 0, years[queries], np.iinfo(np.int16).max)
        parts = []
        for fold, vectors in enumerate(folds.vectors):
            position = np.flatnonzero(folds.fold[queries] == fold)
            ranking = self._find(vectors, queries[position], latest[position] if temporal else None)
            parts.append((position, ranking.rows))
        width = max(rows.shape[1] for _, rows in parts)
        result = np.full((len(queries), width), NO_ROW, np.int32)
        for position, rows in parts:
            result[position, : rows.shape[1]] = rows
        return result

    def _find(
        self, vectors: NDArray[np.float32], queries: NDArray[np.int32], latest: NDArray[np.int16] | None
    ) -> Ranking:
        years = np.asarray(self.history.corpus.years)
        own, k = vectors[queries], self.settings.neighbours
        search = NeighbourSearch.over(
            *(vectors, own, k),
            total=len(queries),
            settings=self.settings.search,
            exclude=queries,
            latest=latest,
            years=years,
        )
        neighbours = search.nearest(own, k, exclude=queries, latest=latest, years=years)
        if not self.settings.expand:
            return neighbours
        return with_citations(neighbours, self.history.cites, vectors[queries], vectors, exclude=queries)

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
from cocite.training.engine.gathering import gathered
from cocite.training.engine.world import World
from cocite.training.neighbour_search import NeighbourSearch, sampled


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
        >>> finder.dev(np.array([3, 4], np.int32), World()).rows.shape
        (2, 5)
    """

    history: History
    settings: NNRankCandidateSettings
    vectors: NDArray[np.float32]

    def dev(self, queries: NDArray[np.int32], world: World) -> Ranking:
        """(Q, M) candidates of dev queries, of which each rank searches a share. All ranks call it together."""
        own = self._find(self.vectors, queries, None, world)
        return Ranking(gathered(own.rows, world), gathered(own.scores, world))

    def training(
        self, queries: NDArray[np.int32], folds: FoldVectors, world: World, *, temporal: bool
    ) -> NDArray[np.int32]:
        """Candidates of training queries, in the space of each query's fold. All ranks call it together.

        Args:
            queries: (Q,) rows.
            folds: vectors that have not seen the queries' citations.
            world: the processes that train together: each searches for a share of the queries.
            temporal: whether candidates are no later than their query.

        Returns:
            (Q, M) rows, padded with ``NO_ROW``.
        """
        years = np.asarray(self.history.corpus.years)
        latest = np.where(years[queries] > 0, years[queries], np.iinfo(np.int16).max)
        parts = []
        for fold, vectors in enumerate(folds.vectors):
            position = np.flatnonzero(folds.fold[queries] == fold)
            own = self._find(vectors, queries[position], latest[position] if temporal else None, world)
            parts.append((position, gathered(own.rows, world)))
        width = max(rows.shape[1] for _, rows in parts)
        result = np.full((len(queries), width), NO_ROW, np.int32)
        for position, rows in parts:
            result[position, : rows.shape[1]] = rows
        return result

    def _find(
        self,
        vectors: NDArray[np.float32],
        queries: NDArray[np.int32],
        latest: NDArray[np.int16] | None,
        world: World,
    ) -> Ranking:
        """The candidates of this rank's share of some queries, as many columns wide as any rank's."""
        years, k = np.asarray(self.history.corpus.years), self.settings.neighbours
        share = world.share(len(queries))
        part, limits = queries[share], None if latest is None else latest[share]
        own, some = vectors[part], sampled(len(queries), world)
        search = NeighbourSearch.over(
            *(vectors, own[some], k),
            total=len(queries),
            settings=self.settings.search,
            world=world,
            exclude=part[some],
            latest=None if limits is None else limits[some],
            years=years,
        )
        found = search.nearest(own, k, exclude=part, latest=limits, years=years)
        if self.settings.expand:
            found = with_citations(found, self.history.cites, own, vectors, exclude=part)
        # The ranks' queries have different numbers of candidates.
        wider = ((0, 0), (0, max(world.collect(found.depth)) - found.depth))
        rows = np.pad(found.rows, wider, constant_values=NO_ROW)
        return Ranking(rows, np.pad(found.scores, wider, constant_values=-np.inf))

"""The nearest neighbours of very many queries among very many papers: what a task mines from.

Up to some tens of thousands of papers the search is exhaustive, in blocks on the device that trains. That is O(N^2)
where every paper is a query, so more papers are put into inverted lists (``cocite.sampling.neighbour_lists``), of which
a query is compared with as many as a recall asks for. The recall is measured against the exhaustive search, on a
sample of the queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from cocite.bounds import PositiveShare
from cocite.config import Settings
from cocite.protocols import NO_ROW, Ranking
from cocite.sampling.neighbour_lists import (
    NeighbourLists,
    centroids_of,
    list_count,
    lists_of_rows,
    probes_for,
)
from cocite.sampling.neighbours import nearest
from cocite.training.engine.gathering import one_copy
from cocite.training.engine.world import World

EXACT_ON_CPU, EXACT_ON_GPU = 50_000, 1_000_000
"""Papers up to which the search is exhaustive, unless the settings say otherwise."""
FEW_QUERIES = 4096
"""Up to so many queries the search is exhaustive in any case: to make the lists takes as long."""
SAMPLED = 512
"""Queries, of all ranks together, that the recall is measured with."""


class NeighbourSearchSettings(Settings):
    """When the search is exhaustive, and how good it is elsewhere.

    Example:
        >>> NeighbourSearchSettings(exact_up_to=1000).recall
        0.95
    """

    exact_up_to: int | None = Field(None, ge=0, le=1_000_000_000)
    """Papers up to which the search is exhaustive; unset: 50,000 on a CPU, 1,000,000 on a GPU."""
    recall: PositiveShare = 0.95
    """Share of the nearest papers that the search must find."""
    most: PositiveShare = 0.125
    """Largest share of the lists that a query is compared with, even if the recall is not reached."""

    def is_exact(self, papers: int, queries: int, device: torch.device) -> bool:
        """Whether so many queries are searched exhaustively among so many papers."""
        limit = self.exact_up_to
        if limit is None:
            limit = EXACT_ON_CPU if device.type == "cpu" else EXACT_ON_GPU
        return papers <= limit or (self.exact_up_to is None and queries <= FEW_QUERIES)


def sampled(total: int, world: World) -> NDArray[np.int64]:
    """(S,) the queries that the recall is measured with, as numbers among a rank's share of all.

    The same are sampled however many ranks share them, so that all settle on the same probes.

    Example:
        >>> sampled(1000, World())[:3].tolist(), sampled(2000, World(rank=1, size=2))[:3].tolist()
        ([0, 1, 3], [1, 5, 9])
    """
    sample = np.unique(np.linspace(0, total - 1, min(SAMPLED, total)).astype(np.int64))
    mine = world.share(total)
    return np.asarray(sample[(sample >= mine.start) & (sample < mine.stop)] - mine.start)


@dataclass(frozen=True)
class NeighbourSearch:
    """The papers of one vector space, ready to be searched by the ranks that train together.

    Attributes:
        vectors: (N, d) unit vectors of all papers.
        pool: rows that may be neighbours; None: all.
        device: where inner products are computed.
        lists: None: the search is exhaustive.
        probes: lists that each query is compared with.
        recall: share of the sampled queries' nearest papers that so many probes find; 1 where it is exhaustive.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32)
        >>> vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        >>> rows = np.arange(3000, dtype=np.int32)
        >>> settings = NeighbourSearchSettings(exact_up_to=1000, most=0.5)
        >>> some = sampled(3000, World())
        >>> search = NeighbourSearch.over(
        ...     vectors, vectors[some], 10, total=3000, settings=settings, exclude=rows[some])
        >>> found, exact = search.nearest(vectors, 10, exclude=rows), nearest(vectors, vectors, 10, exclude=rows)
        >>> shared = np.mean([np.isin(*pair).mean() for pair in zip(exact.rows, found.rows)])
        >>> search.recall >= 0.95, bool(abs(shared - search.recall) < 0.01), len(search.metrics)
        (True, True, 1)
    """

    vectors: Tensor
    pool: NDArray[np.int32] | None
    device: torch.device
    lists: NeighbourLists | None = None
    probes: int = 0
    recall: float = 1.0

    @classmethod
    @torch.no_grad()
    def over(
        cls,
        vectors: NDArray[np.float32],
        queries: NDArray[np.float32],
        k: int,
        *,
        total: int,
        settings: NeighbourSearchSettings,
        world: World | None = None,
        pool: NDArray[np.int32] | None = None,
        exclude: NDArray[np.int32] | None = None,
        latest: NDArray[np.int16] | None = None,
        years: NDArray[np.int16] | None = None,
    ) -> NeighbourSearch:
        """Make the lists, where there are enough papers. All ranks call it together, with the same vectors.

        What has a row for each paper lies in temporary files, of which the ranks of a machine map one copy; on a GPU
        the vectors and their years are there.

        Args:
            vectors: (N, d) unit vectors of all papers.
            queries: (Q, d) of this rank's share of the queries those of which :func:`sampled` gives the numbers.
            k: neighbours of each query that the recall counts.
            total: how many queries all ranks have.
            settings: when the search is exhaustive.
            world: the processes that share the queries.
            pool: rows that may be neighbours, ascending; None: all.
            exclude, latest, years: of these queries; see :func:`~cocite.sampling.neighbours.nearest`.
        """
        world = world or World()
        device = world.device
        exact = cls(torch.from_numpy(vectors).to(device), pool, device)
        papers = len(vectors if pool is None else pool)
        if settings.is_exact(papers, total, device) or papers < 2:
            return exact

        def together(rows: NDArray[Any]) -> NDArray[Any]:
            return one_copy(rows, world)

        with torch.autocast(device.type, enabled=False):
            centroids = centroids_of(exact.vectors, list_count(papers), rows=pool)
            owner = together(lists_of_rows(exact.vectors, centroids, world.share(papers), pool=pool))
            lists = NeighbourLists.of(
                *(vectors, pool, owner, centroids), years=years, share=world.share, together=together
            )
        near = exact.nearest(queries, k, exclude=exclude, latest=latest, years=years)
        with torch.autocast(device.type, enabled=False):
            ranks = lists.ranks(queries, near.rows)[near.rows != NO_ROW]
        ranks = world.concatenate(torch.from_numpy(ranks).to(device)).cpu().numpy()
        probes, recall = probes_for(ranks, settings.recall, max(1, int(settings.most * len(centroids))))
        return cls(exact.vectors, pool, device, lists, probes, recall)

    @property
    def metrics(self) -> Mapping[str, float]:
        """What a training logs of the search: ``mined_recall``; nothing where it is exhaustive."""
        return {} if self.lists is None else {"mined_recall": self.recall}

    @torch.no_grad()
    def nearest(
        self,
        queries: NDArray[np.float32],
        k: int,
        *,
        exclude: NDArray[np.int32] | None = None,
        latest: NDArray[np.int16] | None = None,
        years: NDArray[np.int16] | None = None,
    ) -> Ranking:
        """(Q, k) the nearest papers of some queries, padded with ``NO_ROW``.

        Args:
            queries: (Q, d).
            k: how many.
            exclude, latest, years: see :func:`~cocite.sampling.neighbours.nearest`; the years are those that the
                lists were made with.
        """
        # Under bf16 many papers would be equally near.
        with torch.autocast(self.device.type, enabled=False):
            if self.lists is not None:
                return self.lists.search(queries, k, probes=self.probes, exclude=exclude, latest=latest)
            return nearest(
                queries,
                self.vectors,
                k,
                exclude=exclude,
                pool=self.pool,
                latest=latest,
                years=years,
                device=self.device,
                half=self.device.type == "cuda",
            )

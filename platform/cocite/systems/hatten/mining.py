"""Mining: the papers that the current model ranks first, as negatives and as further positives (HAtten, section 4.3).

For each training query the top K_n papers of the current weights are kept, without the citing paper itself, what it
cites (or the query alone), and (where the recipe forbids them) papers of later years. All of them are negatives; those
whose words overlap most with the query's are positives too, compared with papers drawn at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import scratch_array
from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW
from cocite.text.fields import jaccard
from cocite.training.engine.watch import Watch
from cocite.training.engine.world import World
from cocite.training.forbidden_negatives import ForbiddenNegatives
from cocite.training.neighbour_search import NeighbourSearch, NeighbourSearchSettings, sampled

BLOCK = 4096
"""Queries searched at a time."""


@dataclass(frozen=True)
class MinedPapers:
    """The mined papers of E queries.

    Attributes:
        rows: (E, K_n) int32, nearest first, padded with ``NO_ROW``.
        relevant: (E, K_n) bool, the papers whose words overlap most with the query's.

    Example:
        >>> mined = MinedPapers(np.array([[7, 3, 5], [4, -1, -1]]), np.array([[True, False, False]] * 2))
        >>> rows, relevant = mined.draw(np.array([0, 1]), np.array([[0.1, 0.9], [0.1, 0.9]]))
        >>> rows  # padding is never drawn where a query has a mined paper
        array([[7, 5],
               [4, 4]])
        >>> relevant[0]
        array([ True, False])
    """

    rows: NDArray[np.int32]
    relevant: NDArray[np.bool_]

    def draw(
        self, queries: NDArray[np.int64], numbers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """(n, draws) mined papers of some queries, and which of them are relevant.

        Args:
            queries: (n,) numbers of queries.
            numbers: (n, draws) random numbers in [0, 1), each of which chooses one paper.

        Returns:
            Papers, ``NO_ROW`` where nothing was mined for a query, and whether each is relevant.
        """
        rows, relevant = self.rows[queries], self.relevant[queries]
        column = (numbers * (rows != NO_ROW).sum(1)[:, None]).astype(np.int64)  # padding stands last
        return np.take_along_axis(rows, column, 1), np.take_along_axis(relevant, column, 1)


def mine(
    queries: NDArray[np.float32],
    numbers: NDArray[np.integer],
    papers: NDArray[np.float32],
    forbidden: ForbiddenNegatives,
    depth: int,
    *,
    total: int | None = None,
    settings: NeighbourSearchSettings | None = None,
    world: World | None = None,
    watch: Watch | None = None,
) -> tuple[NDArray[np.int32], Mapping[str, float]]:
    """The nearest papers of each query that are not forbidden. All ranks call it together.

    Args:
        queries: (E, d) unit vectors of this rank's queries.
        numbers: (E,) which queries of ``forbidden`` they are.
        papers: (N, d) unit vectors of all papers.
        forbidden: what is left out.
        depth: K_n.
        total: how many queries all ranks have; None: these.
        settings: when the search is exhaustive.
        world: the processes that share the queries.
        watch: whom this tells and asks between blocks of :data:`BLOCK` queries, and what keeps those.

    Returns:
        (E, depth) papers, padded with ``NO_ROW``, and what a training logs of the search.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> vectors = np.random.default_rng(0).normal(size=(len(corpus), 4)).astype(np.float32)
        >>> citing = np.array([200, 300])
        >>> rows, _ = mine(vectors[citing], citing, vectors, ForbiddenNegatives(History.all(corpus)), 5)
        >>> rows.shape, bool(corpus.cites.contains(citing[:, None], rows).any())
        ((2, 5), False)
    """
    result = scratch_array((len(queries), depth), np.int32)
    total, world, years = len(queries) if total is None else total, world or World(), forbidden.years
    some = sampled(total, world)
    rows = forbidden.own(numbers[some])
    search = NeighbourSearch.over(
        *(papers, queries[some], depth),
        total=total,
        settings=settings or NeighbourSearchSettings(),
        world=world,
        exclude=rows,
        latest=forbidden.latest(rows),
        years=years,
    )
    watch = watch or Watch()
    for block in watch.filled("mining: nearest papers", result, size=BLOCK, total=total, world=world):
        asked = numbers[block]
        own = forbidden.own(asked)
        # The search itself leaves out the citing paper and the years that are forbidden. Only cited papers remain to be
        # dropped, so it goes deeper by as many as any of these queries cites.
        deeper = depth + int(forbidden.cites.degrees_of(asked).max(initial=0))
        latest = forbidden.latest(own)
        candidates = search.nearest(queries[block], deeper, exclude=own, latest=latest, years=years).rows
        dropped = forbidden.at(asked[:, None], candidates)
        columns = np.argsort(dropped, axis=1, kind="stable")[:, :depth]
        found = np.where(
            np.take_along_axis(dropped, columns, 1), NO_ROW, np.take_along_axis(candidates, columns, 1)
        )
        result[block, : found.shape[1]] = found
        result[block, found.shape[1] :] = NO_ROW
    return result, search.metrics


def most_overlapping(
    rows: NDArray[np.int32], queries: CSR, papers: CSR, types: int, share: float
) -> NDArray[np.bool_]:
    """(E, K) the share of each query's mined papers whose words overlap most with its own, by the Jaccard index.

    Args:
        rows: (E, K) mined papers, padded with ``NO_ROW``.
        queries: (E) the words of each query.
        papers: (N) the words of each paper.
        types: how many word numbers there are.
        share: of the papers mined for a query, rounded down but at least one.

    Example:
        >>> queries = CSR.build([0, 0], [1, 2], 1)
        >>> papers = CSR.build([0, 1, 1, 2], [3, 1, 2, 1], 3)
        >>> most_overlapping(np.array([[0, 1, 2]], np.int32), queries, papers, types=4, share=0.3)
        array([[False,  True, False]])
    """
    present = rows != NO_ROW
    query, column = np.nonzero(present)
    overlap = np.full(rows.shape, -1.0, np.float32)
    overlap[query, column] = jaccard(queries, query, papers, rows[query, column], types)
    rank = np.argsort(np.argsort(-overlap, axis=1, kind="stable"), axis=1, kind="stable")
    most = np.maximum((share * present.sum(1)).astype(np.int64), 1)
    return np.asarray((rank < most[:, None]) & present & (overlap > 0))

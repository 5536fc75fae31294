"""Nearest neighbours of very many queries at once, by inverted lists.

Vectors are put into lists by the nearest of some centroids, and a query is compared with the vectors of the lists
whose centroids are nearest to it ("probes"). All queries that probe a list are compared with it in one matrix product,
which is many times as fast as comparing pair by pair.

The lists of a neighbour that exhaustive search finds say after how many probes it is found. So the probes that a recall
needs are read off a sample of queries, and the recall is known without a second search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from cocite.array_files import scratch_array, scratch_numbers, scratch_rows
from cocite.counting_sort import counting_sort
from cocite.protocols import NO_ROW, Ranking

SAMPLE = 32
"""Vectors for each centroid that the centroids are computed from."""
ROUNDS = 6
"""Rounds of k-means."""
BLOCK = 8192
"""Vectors compared with all centroids, or queries with the lists, at a time."""
COMPARED = 1 << 22
"""Most similarities of queries and the vectors of a list at a time: vectors that are little grouped make long lists."""
PLACED = 1 << 18
"""Rows whose places are noted at a time."""
WORKSPACE = 1 << 24
"""Most neighbours of all probes that are in memory at a time."""


def list_count(count: int) -> int:
    """The number of lists for a number of vectors, sqrt(n): as many lists as vectors in each.

    Example:
        >>> [list_count(count) for count in (3, 10_000, 10_000_000)]
        [1, 100, 3162]
    """
    return max(1, math.isqrt(count))


def centroids_of(
    vectors: Tensor, lists: int, *, seed: int = 0, rows: NDArray[np.int32] | None = None
) -> Tensor:
    """(C, d) centroids by spherical k-means over a sample; the same for the same vectors and seed.

    Args:
        vectors: (N, d) unit vectors.
        lists: C; at most as many as there are vectors.
        seed: of the sample.
        rows: (M,) the vectors that count, M at least 1; None: all.

    Example:
        >>> centroids_of(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 1).tolist()  # their mean, as a unit vector
        [[0.8944271802902222, 0.4472135901451111]]
    """
    rng = np.random.default_rng(seed)
    # As ``rng.permutation`` draws them, but in a file.
    numbers = scratch_numbers(0, len(vectors) if rows is None else len(rows), np.int32)
    rng.shuffle(numbers)
    drawn = numbers[: SAMPLE * lists]
    chosen = np.asarray(drawn if rows is None else rows[drawn], np.int64)
    sample = vectors[torch.from_numpy(chosen).to(vectors.device)]
    centroids = sample[:lists]
    for _ in range(ROUNDS):
        owner = nearest_lists(sample, centroids)
        sums = torch.zeros_like(centroids).index_add_(0, owner, sample)
        empty = (torch.bincount(owner, minlength=lists) == 0).nonzero().squeeze(1)
        # A centroid that lost all its vectors begins anew at one of the sample.
        sums[empty] = sample[torch.from_numpy(rng.permutation(len(sample))[: len(empty)]).to(empty.device)]
        centroids = functional.normalize(sums, dim=1)
    return centroids


def nearest_lists(vectors: Tensor, centroids: Tensor) -> Tensor:
    """(n,) the list of each vector (n, d): that of the centroid (C, d) of the greatest inner product.

    Example:
        >>> nearest_lists(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.eye(2)).tolist()
        [1, 0]
    """
    parts = [
        (vectors[start : start + BLOCK] @ centroids.T).argmax(1) for start in range(0, len(vectors), BLOCK)
    ]
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.int64, device=vectors.device)


def lists_of_rows(
    vectors: Tensor, centroids: Tensor, share: slice, *, pool: NDArray[np.int32] | None = None
) -> NDArray[np.int32]:
    """(n,) the lists of a share of the vectors, or of those in a pool, in a temporary file.

    Args:
        vectors: (N, d).
        centroids: (C, d).
        share: of the vectors, or of the places in the pool.
        pool: (M,) rows; None: all.

    Example:
        >>> vectors = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        >>> lists_of_rows(vectors, torch.eye(2), slice(1, 3))
        array([0, 1], dtype=int32)
    """
    result = scratch_array(share.stop - share.start, np.int32)
    for start in range(share.start, share.stop, BLOCK):
        stop = min(start + BLOCK, share.stop)
        rows = np.arange(start, stop) if pool is None else np.asarray(pool[start:stop], np.int64)
        lists = nearest_lists(vectors[torch.from_numpy(rows).to(vectors.device)], centroids)
        result[start - share.start : stop - share.start] = lists.cpu().numpy()
    return result


@dataclass(frozen=True)
class NeighbourLists:
    """M vectors in C lists. The arrays that are as long as there are papers lie in files, and may be mapped by others.

    Attributes:
        centroids: (C, d).
        vectors: (M, d), list after list.
        rows: (M,) the paper of each of them.
        starts: (C + 1,) the vectors of list c are ``starts[c] : starts[c + 1]``.
        places: (N,) where among the vectors that of each paper is, or -1.
        years: (M,) of the papers of the vectors; None: they are not known.

    Example:
        >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], np.float32)
        >>> centroids = torch.eye(2)
        >>> owner = lists_of_rows(torch.from_numpy(vectors), centroids, slice(0, 4))
        >>> lists = NeighbourLists.of(vectors, None, owner, centroids)
        >>> lists.search(vectors[:1], 2, probes=1, exclude=np.array([0], np.int32)).rows  # the first list alone
        array([[ 1, -1]], dtype=int32)
        >>> lists.ranks(vectors[:1], np.array([[1, 3]], np.int32))  # paper 3 is found by the second probe
        array([[0, 1]])
    """

    centroids: Tensor
    vectors: Tensor
    rows: NDArray[np.int32]
    starts: NDArray[np.int64]
    places: NDArray[np.int32]
    years: Tensor | None = None

    @classmethod
    def of(
        cls,
        vectors: NDArray[np.float32],
        pool: NDArray[np.int32] | None,
        owner: NDArray[np.int32],
        centroids: Tensor,
        *,
        years: NDArray[np.int16] | None = None,
        share: Callable[[int], slice] = lambda count: slice(0, count),
        together: Callable[[NDArray[Any]], NDArray[Any]] = lambda rows: rows,
    ) -> NeighbourLists:
        """The lists of some papers, on the centroids' device.

        Args:
            vectors: (N, d) of all papers.
            pool: (M,) rows of the papers that may be neighbours; None: all.
            owner: (M,) the list of each of them.
            centroids: (C, d).
            years: (N,) of all papers.
            share: of so many rows, those that this process makes.
            together: puts the rows that all processes made one behind the other, in one file of each machine.
        """
        device = centroids.device
        order, ends = counting_sort(owner, len(centroids))
        mine = share(len(owner))

        def papers_of(block: slice) -> NDArray[np.int32]:
            return order[block] if pool is None else pool[order[block]]

        rows = together(scratch_rows(mine, np.int32, papers_of))
        stored = together(
            scratch_rows(mine, np.float32, lambda block: vectors[rows[block]], vectors.shape[1])
        )
        dates = None
        if years is not None:
            own = scratch_rows(mine, np.int16, lambda block: years[rows[block]])
            dates = torch.from_numpy(together(own)).to(device)
        starts = np.concatenate([[0], ends])
        places = together(_places(rows, share(len(vectors))))
        return cls(centroids, torch.from_numpy(stored).to(device), rows, starts, places, dates)

    def ranks(self, queries: NDArray[np.float32], neighbours: NDArray[np.int32]) -> NDArray[np.int64]:
        """(Q, k) how many lists are nearer to a query than the one that holds each neighbour; C at ``NO_ROW``.

        With more probes than that, the neighbour is found.

        Args:
            queries: (Q, d).
            neighbours: (Q, k) rows of the lists.
        """
        lists = len(self.centroids)
        order = (torch.from_numpy(queries).to(self.centroids.device) @ self.centroids.T).argsort(
            dim=1, descending=True, stable=True
        )
        position = np.full((len(queries), lists + 1), lists, np.int64)
        np.put_along_axis(position, order.cpu().numpy(), np.arange(lists)[None], axis=1)
        places = self.places[neighbours]
        held = np.searchsorted(self.starts, places, side="right") - 1
        held = np.where((neighbours == NO_ROW) | (places < 0), lists, held)
        return np.asarray(np.take_along_axis(position, held, axis=1))

    def search(
        self,
        queries: NDArray[np.float32],
        k: int,
        *,
        probes: int,
        exclude: NDArray[np.int32] | None = None,
        latest: NDArray[np.int16] | None = None,
    ) -> Ranking:
        """The ``k`` papers of the greatest inner product, among those of each query's nearest lists.

        Args:
            queries: (Q, d).
            k: how many.
            probes: lists that each query is compared with; with C the search is exhaustive.
            exclude: (Q,) a row that is no neighbour of each query, or ``NO_ROW``.
            latest: (Q,) the last year of each query's neighbours, where :attr:`years` are known.

        Returns:
            (Q, k) papers and inner products, padded with ``NO_ROW``.
        """
        device, probes = self.centroids.device, min(probes, len(self.centroids))
        k = min(k, len(self.rows))
        rows = np.full((len(queries), k), NO_ROW, np.int32)
        scores = np.full((len(queries), k), -np.inf, np.float32)
        # Queries of one list are searched together: a block then probes few lists, each for many queries.
        order = np.argsort(self._nearest_list(queries), kind="stable")
        block = max(1, min(BLOCK, WORKSPACE // (probes * max(k, 1))))
        for start in range(0, len(order), block):
            part = order[start : start + block]
            own = None
            if exclude is not None:
                left_out = np.where(exclude[part] == NO_ROW, -1, self.places[exclude[part]])
                own = torch.from_numpy(left_out.astype(np.int64)).to(device)
            last = None
            if latest is not None and self.years is not None:
                last = (self.years, torch.from_numpy(latest[part]).to(device))
            wanted = torch.from_numpy(queries[part]).to(device)
            values, places = self._search_block(wanted, k, probes, own, last)
            found = self.rows[places.cpu().numpy()]
            scores[part] = values.cpu().numpy()
            rows[part] = np.where(np.isneginf(scores[part]), NO_ROW, found)
        return Ranking(rows, scores)

    def _nearest_list(self, queries: NDArray[np.float32]) -> NDArray[np.int64]:
        """(Q,) the nearest list of each query."""
        device = self.centroids.device
        parts = [queries[start : start + BLOCK] for start in range(0, len(queries), BLOCK)]
        lists = [nearest_lists(torch.from_numpy(part).to(device), self.centroids) for part in parts]
        return torch.cat(lists).cpu().numpy() if lists else np.zeros(0, np.int64)

    def _search_block(
        self,
        queries: Tensor,
        k: int,
        probes: int,
        own: Tensor | None,
        latest: tuple[Tensor, Tensor] | None,
    ) -> tuple[Tensor, Tensor]:
        """(b, k) inner products of some queries (b, d), and the places of their vectors.

        Args:
            queries: (b, d).
            k: how many.
            probes: lists of each query.
            own: (b,) the place that is left out for each query, or -1.
            latest: (M,) years of the vectors, and (b,) the last year of each query.
        """
        device = queries.device
        probed = (queries @ self.centroids.T).topk(probes).indices  # (b, probes), the nearest first
        values = torch.full((*probed.shape, k), -torch.inf, device=device)
        places = torch.zeros((*probed.shape, k), dtype=torch.int32, device=device)
        worst = torch.full((len(queries),), -torch.inf, device=device)
        # After its nearest list a query has k papers already, and few of the others hold a better one: finding the
        # greatest inner product of a list takes a quarter of the time that finding the k greatest does.
        for columns in (slice(0, 1), slice(1, probes)):
            part = probed[:, columns].reshape(-1)
            pairs = part.argsort(stable=True)  # a pair is a query and one of its lists
            ends = torch.bincount(part, minlength=len(self.centroids)).cumsum(0).tolist()
            width = max(probed[:, columns].shape[1], 1)
            start = 0
            for number, end in enumerate(ends):
                first, last = int(self.starts[number]), int(self.starts[number + 1])
                asked, start = pairs[start:end], end
                if not len(asked) or first == last:
                    continue
                at_once = max(1, COMPARED // (last - first))
                for begin in range(0, len(asked), at_once):
                    chosen = asked[begin : begin + at_once]
                    query = chosen // width
                    similar = queries[query] @ self.vectors[first:last].T  # (n, m)
                    if own is not None:
                        at = own[query] - first
                        inside = ((at >= 0) & (at < last - first)).nonzero().squeeze(1)
                        similar[inside, at[inside]] = -torch.inf
                    if latest is not None:
                        similar[latest[0][None, first:last] > latest[1][query, None]] = -torch.inf
                    better = (similar.amax(1) > worst[query]).nonzero().squeeze(1)
                    best, column = similar[better].topk(min(k, last - first))
                    query, probe = query[better], chosen[better] % width + columns.start
                    values[query, probe, : best.shape[1]] = best
                    places[query, probe, : best.shape[1]] = (column + first).int()
                    del similar  # the next one is not made beside it
            worst = values[:, 0, -1]
        best, at = values.flatten(1).topk(k)
        return best, places.flatten(1).gather(1, at)


def _places(rows: NDArray[np.int32], papers: slice) -> NDArray[np.int32]:
    """(n,) where each of some papers is among the rows, or -1, in a temporary file."""
    result = scratch_rows(papers, np.int32, lambda block: np.full(block.stop - block.start, -1, np.int32))
    for start in range(0, len(rows), PLACED):
        part = np.asarray(rows[start : start + PLACED])
        here = np.flatnonzero((part >= papers.start) & (part < papers.stop))
        result[part[here] - papers.start] = start + here
    return result


def probes_for(ranks: NDArray[np.int64], recall: float, most: int) -> tuple[int, float]:
    """The fewest probes that find a share of neighbours, and the share that they find.

    Args:
        ranks: (Q, k) of :meth:`NeighbourLists.ranks`, of any queries; padding left out.
        recall: the share, 0 ... 1.
        most: the most probes.

    Example:
        >>> probes_for(np.array([0, 0, 1, 4]), recall=0.75, most=8)
        (2, 0.75)
        >>> probes_for(np.array([0, 0, 1, 4]), recall=0.95, most=3)
        (3, 0.75)
    """
    if not ranks.size:
        return most, 1.0
    ordered = np.sort(ranks, axis=None)
    needed = int(ordered[max(math.ceil(recall * len(ordered)) - 1, 0)]) + 1
    probes = max(1, min(needed, most))
    return probes, float((ordered < probes).mean())

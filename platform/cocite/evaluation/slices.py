"""Metrics of slices of the queries, and the self-citation bias of a ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import means
from cocite.protocols import NO_ROW, Ranking

IN_CITATIONS = (("unseen", 0, 0), ("1-4", 1, 4), ("5-19", 5, 19), ("20+", 20, np.iinfo(np.int32).max))
"""(name, fewest, most) in-citations of a relevant paper in the history."""


@dataclass(frozen=True)
class Slice:
    """Metrics of a slice of the queries.

    Attributes:
        name: of the slice, for example ``positives >= 2``.
        queries: how many queries it holds with a relevant paper.
        means: value by metric.

    Example:
        >>> hits = Hits(np.array([0, 1, 3]), np.array([1, 2, 5], np.int32), np.array([4, 7, 9], np.int32), 10)
        >>> by_positives(hits, ["MRR"])[0]
        Slice(name='positives = 1', queries=1, means={'MRR': 1.0})
    """

    name: str
    queries: int
    means: dict[str, float]


def by_positives(hits: Hits, metrics: Sequence[str]) -> list[Slice]:
    """Queries with exactly one relevant paper, with one or more, and with two or more (MP-BERT4CR, section 5)."""
    parts = {"positives = 1": hits.relevant == 1, "positives >= 1": hits.relevant >= 1}
    parts["positives >= 2"] = hits.relevant >= 2
    return [_slice(name, hits.queries(chosen), metrics) for name, chosen in parts.items()]


def by_label(
    hits: Hits, labels: Sequence[str], metrics: Sequence[str], *, limit: int | None = None, prefix: str = ""
) -> list[Slice]:
    """Slices of the queries that share a label, such as venue or year.

    Args:
        hits: of Q queries.
        labels: one of each query; an empty one counts as ``unknown``.
        metrics: of each slice.
        limit: only the labels of the most queries, largest first; by default all, in the order of their names.
        prefix: of the slices' names.

    Example:
        >>> hits = Hits(np.array([0, 1, 2]), np.array([1, 2], np.int32), np.array([4, 7], np.int32), 10)
        >>> [(part.name, part.means["MRR"]) for part in by_label(hits, ["ACL", "EMNLP"], ["MRR"])]
        [('ACL', 1.0), ('EMNLP', 0.5)]
    """
    names, which, counts = np.unique(np.array(labels, str), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:limit] if limit is not None else np.arange(len(names))
    return [_slice(f"{prefix}{names[i] or 'unknown'}", hits.queries(which == i), metrics) for i in order]


def by_in_citations(hits: Hits, in_citations: NDArray[np.int32], metrics: Sequence[str]) -> list[Slice]:
    """Slices of the relevant papers by how often the history cites them: each counts only its own papers as relevant.

    Args:
        hits: of Q queries.
        in_citations: (N,) in-citations of each paper in the history.
        metrics: of each slice.

    Example:
        >>> hits = Hits(np.array([0, 2]), np.array([1, 2], np.int32), np.array([0, 1], np.int32), 10)
        >>> [part.queries for part in by_in_citations(hits, np.array([0, 30], np.int32), ["MRR"])]
        [1, 0, 0, 1]
    """
    counts = in_citations[hits.rows]
    return [
        _slice(f"in-citations {name}", hits.papers((counts >= low) & (counts <= high)), metrics)
        for name, low, high in IN_CITATIONS
    ]


@dataclass(frozen=True)
class SelfCitation:
    """The ranks of papers that share an author with the manuscript (Citeomatic, Figure 4).

    Attributes:
        mean_rank: (n,) mean rank of same-author papers among the first 1, 2, ..., n, averaged over the queries
            that have one there; NaN where none has.
        max_rank: (n,) the same of their largest rank.
        queries: (n,) how many queries have one there.

    Example:
        >>> counter = SelfCitationCounter(lambda rows: [["Ada"] if row == 7 else ["Bo"] for row in rows], depth=3)
        >>> counter.add([["ada"]], Ranking(np.array([[4, 7, 9]], np.int32), np.zeros((1, 3), np.float32)))
        >>> counter.result().mean_rank
        array([nan,  2.,  2.])
    """

    mean_rank: NDArray[np.float64]
    max_rank: NDArray[np.float64]
    queries: NDArray[np.int64]


class SelfCitationCounter:
    """Counts :class:`SelfCitation` batch by batch, so that no ranking needs to be kept.

    Args:
        authors_of: returns the authors of some rows.
        depth: n, the deepest cut-off.

    Example:
        >>> counter = SelfCitationCounter(lambda rows: [["Ada"]] * len(rows), depth=2)
        >>> counter.add([["Ada"], ["Bo"]], Ranking(np.array([[4], [5]], np.int32), np.zeros((2, 1), np.float32)))
        >>> counter.result().queries
        array([1, 1])
    """

    def __init__(
        self, authors_of: Callable[[NDArray[np.int32]], Sequence[Sequence[str]]], depth: int = 100
    ) -> None:
        self.authors_of, self.depth = authors_of, depth
        self._mean = np.zeros(depth)
        self._max = np.zeros(depth)
        self._queries = np.zeros(depth, np.int64)

    def add(self, authors: Sequence[Sequence[str]], ranking: Ranking) -> None:
        """Count a batch: the authors of each query (Q) and its ranking (Q, k)."""
        self.add_sums(self.sums(authors, ranking))

    def sums(self, authors: Sequence[Sequence[str]], ranking: Ranking) -> NDArray[np.float64]:
        """(3, n) of a batch: sums over its queries of mean ranks, largest ranks, and of queries that have such a paper.

        Sums of floating-point numbers depend on their order: batches that were counted elsewhere give the same result
        where they are added (:meth:`add_sums`) in the order of the queries.
        """
        shared = self._shared(authors, ranking.top(self.depth).rows)  # (Q, n)
        if shared.shape[1] < self.depth:
            shared = np.pad(shared, ((0, 0), (0, self.depth - shared.shape[1])))
        ranks = np.where(shared, np.arange(1, self.depth + 1), 0)
        count = np.cumsum(shared, axis=1)
        mean = np.cumsum(ranks, axis=1) / np.maximum(count, 1)  # 0 where a query has none
        largest = np.maximum.accumulate(ranks, axis=1)
        return np.stack([mean.sum(axis=0), largest.sum(axis=0), (count > 0).sum(axis=0)])

    def add_sums(self, sums: NDArray[np.float64]) -> None:
        """Count a batch of which there are :meth:`sums`, (3, n)."""
        self._mean += sums[0]
        self._max += sums[1]
        self._queries += sums[2].astype(np.int64)

    def result(self) -> SelfCitation:
        """The averages over all queries added."""
        queries = np.where(self._queries, self._queries, np.nan)
        return SelfCitation(self._mean / queries, self._max / queries, self._queries.copy())

    def _shared(self, authors: Sequence[Sequence[str]], rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        """(Q, n) whether a candidate has an author in common with the query."""
        papers, where = np.unique(rows, return_inverse=True)
        known = papers != NO_ROW  # ``NO_ROW`` sorts before all papers
        of_papers: list[Sequence[str]] = [()] * int((~known).sum()) + list(self.authors_of(papers[known]))
        codes: dict[str, int] = {}
        query, query_author = _coded(authors, codes)
        paper, paper_author = _coded(of_papers, codes)
        width = len(codes) + 1
        keys = np.unique(query * width + query_author)  # which authors each query has
        order = np.argsort(paper, kind="stable")
        paper, paper_author = paper[order], paper_author[order]
        starts = np.searchsorted(paper, np.arange(len(papers) + 1))
        cell_paper = where.ravel()
        counts = np.diff(starts)[cell_paper]
        cell = np.repeat(np.arange(len(cell_paper)), counts)
        offset = np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts)
        author = paper_author[starts[cell_paper][cell] + offset]
        wanted = cell // max(rows.shape[1], 1) * width + author
        shared = np.zeros(len(cell_paper), bool)
        shared[cell[np.isin(wanted, keys)]] = True
        return shared.reshape(rows.shape)


def _coded(
    lists: Sequence[Sequence[str]], codes: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(owner, author number) of every author of some lists; names that differ only in case and spaces are one."""
    pairs = [(i, " ".join(name.casefold().split())) for i, names in enumerate(lists) for name in names]
    owners = np.array([owner for owner, _ in pairs], np.int64)
    return owners, np.array([codes.setdefault(name, len(codes)) for _, name in pairs], np.int64)


def _slice(name: str, hits: Hits, metrics: Sequence[str]) -> Slice:
    return Slice(name, int((hits.relevant > 0).sum()), means(hits, metrics))

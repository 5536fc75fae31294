"""Votes: the papers or sentences nearest to a query vote for what they cited, each with its weight.

This is nearest-neighbour classification with weighted votes: the nearest items are historical papers
(:mod:`~cocite.retrieval.signals.neighbours`) or historical contexts
(:mod:`~cocite.retrieval.signals.citing_sentences`), and the classes are the papers that they cite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Ranking

KINDS = ("sum", "max", "cubes", "count")
"""Ways to add up the votes for a paper; the fields of :class:`Votes`."""


@dataclass(frozen=True)
class Votes:
    """The votes of each query, as compressed sparse rows over the papers.

    Attributes:
        shape: (Q, N).
        indptr: (Q + 1,) the votes of query i are ``indptr[i] : indptr[i + 1]``.
        papers: (V,) papers with a vote, ascending within a query; the other arrays are aligned with it.
        sum: (V,) sum of the weights of those that cite the paper.
        max: (V,) the greatest of these weights.
        cubes: (V,) sum of the cubed weights: few near items outweigh many far ones.
        count: (V,) how many cite the paper.

    Example:
        >>> nearest = Ranking(np.array([[0, 1]], np.int32), np.array([[1.0, 0.5]], np.float32))
        >>> votes = count_votes(nearest, CSR.build([0, 1, 1], [2, 2, 3], 2), papers=5)
        >>> votes.dense("sum")
        array([[0. , 0. , 1.5, 0.5, 0. ]], dtype=float32)
        >>> votes.ranking(2).rows
        array([[2, 3]], dtype=int32)
    """

    shape: tuple[int, int]
    indptr: NDArray[np.int64]
    papers: NDArray[np.int32]
    sum: NDArray[np.float32]
    max: NDArray[np.float32]
    cubes: NDArray[np.float32]
    count: NDArray[np.float32]

    def dense(self, kind: str = "sum") -> NDArray[np.float32]:
        """(Q, N) one kind of vote, 0 where there is none."""
        result = np.zeros(self.shape, np.float32)
        result[self._owners, self.papers] = self._values(kind)
        return result

    def at(self, rows: NDArray[np.int32], kind: str = "sum") -> NDArray[np.float32]:
        """(Q, k) one kind of vote for given candidates (Q, k); 0 at ``NO_ROW``."""
        return self.kinds_at(rows, (kind,))[kind]

    def kinds_at(
        self, rows: NDArray[np.int32], kinds: Sequence[str] = KINDS
    ) -> dict[str, NDArray[np.float32]]:
        """(Q, k) several kinds of votes for given candidates (Q, k), by kind; 0 at ``NO_ROW``."""
        values = {kind: self._values(kind) for kind in kinds}
        if not len(self.papers):
            return {kind: np.zeros(rows.shape, np.float32) for kind in kinds}
        position = np.empty(rows.shape, np.int64)
        for query, wanted in enumerate(rows):
            first, last = self.indptr[query : query + 2]
            position[query] = first + np.searchsorted(self.papers[first:last], wanted)
        position = np.minimum(position, len(self.papers) - 1)
        ends = self.indptr[1:, None]
        present = (self.papers[position] == rows) & (position < ends) & (position >= self.indptr[:-1, None])
        return {kind: np.where(present, of_kind[position], np.float32(0)) for kind, of_kind in values.items()}

    def ranking(self, k: int, kind: str = "sum") -> Ranking:
        """The ``k`` papers with most votes; fewer when fewer got any."""
        values = self._values(kind)
        order = np.lexsort((self.papers, -values, self._owners))
        rank = np.arange(len(order)) - np.repeat(self.indptr[:-1], np.diff(self.indptr))
        order, owner, rank = order[rank < k], self._owners[rank < k], rank[rank < k]
        rows = np.full((self.shape[0], k), NO_ROW, np.int32)
        scores = np.full((self.shape[0], k), -np.inf, np.float32)
        rows[owner, rank], scores[owner, rank] = self.papers[order], values[order]
        return Ranking(rows, scores)

    @property
    def _owners(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def _values(self, kind: str) -> NDArray[np.float32]:
        if kind not in KINDS:
            raise ValueError(f"no votes of kind {kind!r}: {', '.join(KINDS)}")
        values: NDArray[np.float32] = getattr(self, kind)
        return values


def relative(nearest: Ranking) -> Ranking:
    """Weights of votes: each score divided by the query's best; items without a positive score are dropped.

    Example:
        >>> relative(Ranking(np.array([[7, 4, 9]], np.int32), np.array([[8, 2, 0]], np.float32)))
        Ranking(rows=array([[ 7,  4, -1]], dtype=int32), scores=array([[1.  , 0.25, -inf]], dtype=float32))
    """
    best = nearest.scores[:, :1] if nearest.depth else nearest.scores
    keep = (nearest.scores > 0) & (nearest.rows != NO_ROW)
    scores = np.divide(nearest.scores, best, out=np.full_like(nearest.scores, -np.inf), where=keep)
    return Ranking(np.where(keep, nearest.rows, NO_ROW).astype(np.int32), scores)


def count_votes(nearest: Ranking, cites: CSR, papers: int) -> Votes:
    """Count the votes of each query's nearest items for the papers that they cite.

    Args:
        nearest: (Q, K) rows of ``cites`` with their weights; ``NO_ROW`` does not vote.
        cites: the papers that each item cites.
        papers: N.
    """
    queries, slots = np.nonzero(nearest.rows != NO_ROW)
    weights = nearest.scores[queries, slots].astype(np.float64)
    owner, cited = cites.gather(nearest.rows[queries, slots])
    keys = queries[owner] * np.int64(papers) + cited
    unique, inverse = np.unique(keys, return_inverse=True)
    weight = weights[owner]
    largest = np.zeros(len(unique))
    np.maximum.at(largest, inverse, weight)
    indptr = np.searchsorted(unique, np.arange(len(nearest) + 1) * np.int64(papers))

    def total(values: NDArray[np.float64]) -> NDArray[np.float32]:
        return np.bincount(inverse, values, minlength=len(unique)).astype(np.float32)

    return Votes(
        (len(nearest), papers),
        indptr.astype(np.int64),
        (unique % papers if papers else unique).astype(np.int32),
        total(weight),
        largest.astype(np.float32),
        total(weight**3),
        total(np.ones_like(weight)),
    )

"""Votes: the nearest papers or sentences of the past speak for what they cited, each with its weight.

A *voter* is a historical paper (neighbours) or a historical context (citing sentences); its *ballot* is the list of
papers it cites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Ranking

KINDS = ("sum", "max", "cubes", "count")


@dataclass(frozen=True)
class Votes:
    """What each query's voters say, as compressed sparse rows over the papers.

    Attributes:
        shape: (Q, N).
        indptr: (Q + 1,) the votes of query i are ``indptr[i] : indptr[i + 1]``.
        papers: who got a vote, ascending within a query.
        sum: sum of the voters' weights.
        max: the weightiest voter.
        cubes: sum of the cubed weights: near voters count for more than many.
        count: number of voters.
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
        if not len(self.papers):
            return np.zeros(rows.shape, np.float32)
        keys = self._owners * self.shape[1] + self.papers
        wanted = np.arange(len(rows))[:, None] * self.shape[1] + rows
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((keys[found] == wanted) & (rows != NO_ROW), self._values(kind)[found], 0).astype(
            np.float32
        )

    def ranking(self, k: int, kind: str = "sum") -> Ranking:
        """The ``k`` papers with most votes; fewer when fewer got any."""
        values = self._values(kind)
        order = np.lexsort((self.papers, -values, self._owners))
        place = np.arange(len(order)) - np.repeat(self.indptr[:-1], np.diff(self.indptr))
        order, owner, place = order[place < k], self._owners[place < k], place[place < k]
        rows = np.full((self.shape[0], k), NO_ROW, np.int32)
        scores = np.full((self.shape[0], k), -np.inf, np.float32)
        rows[owner, place], scores[owner, place] = self.papers[order], values[order]
        return Ranking(rows, scores)

    @property
    def _owners(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def _values(self, kind: str) -> NDArray[np.float32]:
        if kind not in KINDS:
            raise ValueError(f"no votes of kind {kind!r}: {', '.join(KINDS)}")
        values: NDArray[np.float32] = getattr(self, kind)
        return values


def relative(voters: Ranking) -> Ranking:
    """Scores relative to the query's best, which weighs 1; voters of no positive score are dropped."""
    best = voters.scores[:, :1] if voters.depth else voters.scores
    keep = (voters.scores > 0) & (voters.rows != NO_ROW)
    scores = np.divide(voters.scores, best, out=np.full_like(voters.scores, -np.inf), where=keep)
    return Ranking(np.where(keep, voters.rows, NO_ROW).astype(np.int32), scores)


def count_votes(voters: Ranking, ballots: CSR, papers: int) -> Votes:
    """Count what weighted voters (Q, K) say of ``papers`` papers.

    Args:
        voters: rows of ``ballots`` with their weights; ``NO_ROW`` does not vote.
        ballots: what each voter cites.
        papers: N.
    """
    queries, slots = np.nonzero(voters.rows != NO_ROW)
    weights = voters.scores[queries, slots].astype(np.float64)
    owner, cited = ballots.gather(voters.rows[queries, slots])
    keys = queries[owner] * np.int64(papers) + cited
    unique, inverse = np.unique(keys, return_inverse=True)
    weight = weights[owner]
    largest = np.zeros(len(unique))
    np.maximum.at(largest, inverse, weight)
    indptr = np.searchsorted(unique, np.arange(len(voters) + 1) * np.int64(papers))

    def total(values: NDArray[np.float64]) -> NDArray[np.float32]:
        return np.bincount(inverse, values, minlength=len(unique)).astype(np.float32)

    return Votes(
        (len(voters), papers),
        indptr.astype(np.int64),
        (unique % papers if papers else unique).astype(np.int32),
        total(weight),
        largest.astype(np.float32),
        total(weight**3),
        total(np.ones_like(weight)),
    )

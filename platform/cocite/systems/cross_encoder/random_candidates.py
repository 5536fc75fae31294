"""Candidates that no retriever found: papers drawn at random from the corpus (Nogueira et al., Section 5.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW
from cocite.sampling.random_papers import RandomPapers

ROUNDS = 32
"""Draws for each candidate, as a draw may find a paper that is none; then the papers that may be are enumerated."""


class RandomCandidates:
    """Draws papers that a query does not cite, from the whole corpus.

    Args:
        papers: what is drawn from, and whether papers later than the citing one are.
        citing: (Q,) the paper of each query, which is never drawn.
        cited: what each query cites, which is never drawn either.

    Example:
        >>> papers = RandomPapers(np.array([2003, 2001, 2002, 2002, 2004], np.int16), later=False)
        >>> outside = RandomCandidates(papers, np.array([3]), CSR(np.array([0, 1]), np.array([1], np.int32)))
        >>> outside.draw(np.array([0]), np.array([[NO_ROW]]), 2, np.random.default_rng(0)).tolist()
        [[2, -1]]
    """

    def __init__(self, papers: RandomPapers, citing: NDArray[np.integer], cited: CSR) -> None:
        self.papers, self.citing, self.cited = papers, citing, cited

    def draw(
        self, queries: NDArray[np.int64], taken: NDArray[np.int32], count: int, rng: np.random.Generator
    ) -> NDArray[np.int32]:
        """(q, count) distinct papers, drawn evenly without putting back, then padding where there are no more.

        Args:
            queries: (q,) numbers of queries.
            taken: (q, k) papers that a query's group has already, and padding.
            count: drawn for a query.
            rng: of the draw.
        """
        result = np.full((len(queries), count), NO_ROW, np.int32)
        citing = self.citing[queries]
        for column in range(count):
            pending = np.arange(len(queries))
            for _ in range(ROUNDS):
                drawn = self.papers.draw(citing[pending], rng.random((len(pending), 1)))[:, 0]
                refused = (
                    (drawn == citing[pending])
                    | self.cited.contains(queries[pending], drawn)
                    | (taken[pending] == drawn[:, None]).any(axis=1)
                    | (result[pending, :column] == drawn[:, None]).any(axis=1)
                )
                result[pending[~refused], column] = drawn[~refused]
                pending = pending[refused]
                if not len(pending):
                    break
            for at in pending.tolist():
                left = self._left(int(queries[at]), np.concatenate([taken[at], result[at]]))
                if len(left):
                    result[at, column] = rng.choice(left)
        return result

    def _left(self, query: int, taken: NDArray[np.int32]) -> NDArray[np.int32]:
        """(n,) the papers that may be drawn for a query and are not taken."""
        rows = self.papers.rows(int(self.citing[query]))
        not_left = np.concatenate([taken, self.cited[query], self.citing[query : query + 1]])
        return np.asarray(rows[~np.isin(rows, not_left)], np.int32)

"""The examples of a learned fusion: the candidates of dev queries, with every signal of each.

Which queries are learned from, and which are held out, is decided by manuscript: two gaps of one paper are too alike to
be on two sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import Query, Ranking

BATCH = 256
"""Queries whose candidates are found together."""
MEASURED = 200
"""Held-out queries from which on one part is enough to measure a fusion."""


class CandidateSource(Protocol):
    """Finds the candidates of queries, and computes the signals that a fusion reads of them.

    Example:
        >>> class TwoNewest:
        ...     def find(self, queries):
        ...         rows = np.tile(np.array([9, 8], np.int32), (len(queries), 1))
        ...         newness = rows.astype(np.float32)
        ...         return Ranking(rows, newness), {"newness": newness}
        >>> cited = CSR(np.array([0, 1, 2]), np.array([8, 3], np.int32))  # the queries cite papers 8 and 3
        >>> collect_examples(TwoNewest(), [Query("a"), Query("b")], cited).relevant.tolist()
        [[False, True], [False, False]]
    """

    def find(self, queries: Sequence[Query]) -> tuple[Ranking, Mapping[str, NDArray[np.float32]]]:
        """The candidates (Q, k) of queries of one kind, and name -> signal (Q, k)."""
        ...


@dataclass(frozen=True)
class FusionExamples:
    """The candidates of Q queries of one kind.

    Attributes:
        signals: name -> (Q, k).
        relevant: (Q, k) whether the query cites the candidate.
        counts: (Q,) how many papers the query cites, retrieved or not.
        papers: (Q,) the manuscript each query comes from.

    Example:
        >>> examples = FusionExamples(
        ...     signals={"bm25": np.array([[2.0, 1.0], [0.5, 0.1]], np.float32)},
        ...     relevant=np.array([[True, False], [False, False]]),
        ...     counts=np.array([1, 3], np.int32),
        ...     papers=np.array([7, 7], np.int32),
        ... )
        >>> examples.take(np.array([1])).counts.tolist()
        [3]
    """

    signals: dict[str, NDArray[np.float32]]
    relevant: NDArray[np.bool_]
    counts: NDArray[np.int32]
    papers: NDArray[np.int32]

    def take(self, positions: NDArray[np.int64]) -> FusionExamples:
        """The queries at some positions, in that order."""
        signals = {name: values[positions] for name, values in self.signals.items()}
        return FusionExamples(
            signals, self.relevant[positions], self.counts[positions], self.papers[positions]
        )


def collect_examples(
    source: CandidateSource,
    queries: Sequence[Query],
    relevant: CSR,
    *,
    without: Sequence[str] = (),
    advance: Callable[[int], object] = lambda _: None,
) -> FusionExamples:
    """Collect the candidates of queries of one kind, with every signal of them.

    Args:
        source: finds the candidates, by a history that ends before the queries.
        queries: all local or all global.
        relevant: what each query cites.
        without: beginnings of the names of signals to leave out.
        advance: called with the number of queries of each finished batch.
    """
    signals: dict[str, list[NDArray[np.float32]]] = {}
    labels = []
    for start in range(0, len(queries), BATCH):
        block = queries[start : start + BATCH]
        ranking, values = source.find(block)
        for name, matrix in values.items():
            if not name.startswith(tuple(without)):
                signals.setdefault(name, []).append(matrix)
        indptr = relevant.indptr[start : start + len(block) + 1]
        entries = relevant.indices[indptr[0] : indptr[-1]]
        labels.append(relevance_labels(ranking, indptr - indptr[0], entries))
        advance(len(block))
    papers = np.array([query.paper for query in queries], np.int32)
    joined = {name: np.concatenate(parts) for name, parts in signals.items()}
    return FusionExamples(joined, np.concatenate(labels), relevant.degrees[: len(queries)], papers)


def relevance_labels(
    ranking: Ranking, indptr: NDArray[np.int64], entries: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """(Q, k) whether each candidate is among its query's relevant rows ``entries[indptr[i] : indptr[i + 1]]``."""
    width = np.int64(max(int(ranking.rows.max(initial=0)), int(entries.max(initial=0))) + 1)
    owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    relevant = owner * width + entries
    candidates = np.arange(len(ranking))[:, None] * width + ranking.rows
    return np.isin(candidates, relevant) & (ranking.rows >= 0)


def reserved_queries(papers: NDArray[np.int32], share: float, seed: int) -> NDArray[np.bool_]:
    """(Q,) whether each query, given its manuscript, is kept from the fusion; two of one manuscript go together.

    Example:
        >>> reserved_queries(np.array([4, 4, 9, 9], np.int32), 0.5, seed=0).tolist()
        [True, True, False, False]
    """
    manuscripts = np.unique(papers)
    sample = np.random.default_rng(seed).permutation(manuscripts)[: round(share * len(manuscripts))]
    return np.isin(papers, sample)


def held_out_parts(papers: NDArray[np.int32], share: float, seed: int) -> list[NDArray[np.int64]]:
    """Positions of the queries of each held-out part, given the manuscript of each query.

    There is one part of the given share of the manuscripts; where that is fewer than ``MEASURED`` queries, there are
    more, which share no manuscript.

    Example:
        >>> [part.tolist() for part in held_out_parts(np.array([4, 4, 9, 9], np.int32), 0.5, seed=0)]
        [[0, 1], [2, 3]]
    """
    manuscripts = np.random.default_rng(seed).permutation(np.unique(papers))
    size = round(share * len(manuscripts))
    parts: list[NDArray[np.int64]] = []
    while size and size * (len(parts) + 1) <= len(manuscripts) and sum(map(len, parts)) < MEASURED:
        sample = manuscripts[size * len(parts) : size * (len(parts) + 1)]
        parts.append(np.flatnonzero(np.isin(papers, sample)))
    return parts

"""Mining: what the present model takes for relevant, as negatives and as further positives (HAtten, section 4.3).

For each training query the top K_n of the current checkpoint are kept, without what the citing paper cites, the
citing paper itself, and papers of later years. All of them are negatives; those whose words overlap most with the
query's are positives too, against papers drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.protocols import NO_ROW
from cocite.sampling.neighbours import nearest
from cocite.text.fields import jaccard

BLOCK = 4096
"""Queries searched at a time."""


class Forbidden:
    """What is no negative of a citing paper: itself, what it cites, and papers of later years.

    So the other papers that a context cites are none either: their links are known as well.

    Args:
        history: the known links.
    """

    def __init__(self, history: History) -> None:
        self.cites = history.cites
        self.years = np.asarray(history.corpus.years)

    def at(self, citing: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each paper is forbidden to its citing paper, for broadcastable arrays; ``NO_ROW`` is."""
        mine = self.years[citing]
        return np.asarray(
            self.cites.contains(citing, rows)
            | (rows == citing)
            | (rows == NO_ROW)
            | ((self.years[rows] > mine) & (mine > 0))
        )

    def table(self, citing: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """(Q, C) the same for each of Q citing papers and each of C distinct papers."""
        mine = self.years[citing][:, None]
        result = (self.years[rows][None] > mine) & (mine > 0)
        column = np.full(len(self.years), -1, np.int64)
        column[rows] = np.arange(len(rows))
        owner, cited = self.cites.gather(citing)
        at = column[cited]
        result[owner[at >= 0], at[at >= 0]] = True
        own = column[citing]
        result[np.flatnonzero(own >= 0), own[own >= 0]] = True
        return np.asarray(result)


@dataclass(frozen=True)
class Mined:
    """What was mined for E queries.

    Attributes:
        rows: (E, K_n) int32, nearest first, padded with ``NO_ROW``.
        relevant: (E, K_n) bool, whose words overlap most with the query's.
    """

    rows: NDArray[np.int32]
    relevant: NDArray[np.bool_]

    def draw(
        self, examples: NDArray[np.int64], numbers: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """(n, draws) mined papers of some queries, chosen by numbers in [0, 1), and which of them are relevant.

        ``NO_ROW`` where nothing was mined for a query.
        """
        rows, relevant = self.rows[examples], self.relevant[examples]
        place = (numbers * (rows != NO_ROW).sum(1)[:, None]).astype(np.int64)  # padding is behind
        return np.take_along_axis(rows, place, 1), np.take_along_axis(relevant, place, 1)


def mine(
    queries: NDArray[np.float32],
    citing: NDArray[np.integer],
    papers: NDArray[np.float32],
    forbidden: Forbidden,
    depth: int,
) -> NDArray[np.int32]:
    """(E, depth) the nearest papers of each query that are not forbidden, padded with ``NO_ROW``.

    Args:
        queries: (E, d) unit vectors.
        citing: (E,) the papers that the queries are of.
        papers: (N, d) unit vectors of all papers.
        forbidden: what is left out.
        depth: K_n.
    """
    result = np.full((len(queries), depth), NO_ROW, np.int32)
    years = forbidden.years
    for start in range(0, len(queries), BLOCK):
        part = slice(start, start + BLOCK)
        own = np.asarray(citing[part], np.int32)
        # Its links alone are left to drop: search so much deeper.
        deeper = depth + int(forbidden.cites.degrees[own].max(initial=0))
        latest = np.where(years[own] > 0, years[own], np.iinfo(np.int16).max).astype(np.int16)
        found = nearest(queries[part], papers, deeper, exclude=own, latest=latest, years=years).rows
        dropped = forbidden.at(own[:, None], found)
        kept = np.argsort(dropped, axis=1, kind="stable")[:, :depth]
        rows = np.where(np.take_along_axis(dropped, kept, 1), NO_ROW, np.take_along_axis(found, kept, 1))
        result[start : start + len(rows), : rows.shape[1]] = rows
    return result


def overlapping(
    rows: NDArray[np.int32], queries: CSR, papers: CSR, types: int, share: float
) -> NDArray[np.bool_]:
    """(E, K) the share of each query's mined papers whose words overlap most with its own, by Jaccard's index.

    Args:
        rows: (E, K) mined papers, padded with ``NO_ROW``.
        queries: (E) the words of each query.
        papers: (N) the words of each paper.
        types: how many word numbers there are.
        share: of the papers mined for a query, rounded down but at least one.
    """
    there = rows != NO_ROW
    query, column = np.nonzero(there)
    overlap = np.full(rows.shape, -1.0, np.float32)
    overlap[query, column] = jaccard(queries, query, papers, rows[query, column], types)
    rank = np.argsort(np.argsort(-overlap, axis=1, kind="stable"), axis=1, kind="stable")
    most = np.maximum((share * there.sum(1)).astype(np.int64), 1)
    return np.asarray((rank < most[:, None]) & there & (overlap > 0))

"""The links among a few papers: which of them cite which, and how often two are cited by the same paper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cocite.corpus.history import History

MOST_LINKS = 1_000_000
"""Citations of the given papers that are read to count co-citations."""
BLOCK = 16_384
"""Citing papers that are counted at a time; their table takes 4 bytes for each of them and each given paper."""


class LinksAmong(NamedTuple):
    """Links among P papers, which are named by their positions.

    Example:
        >>> none = np.zeros((0, 2), np.int64)
        >>> LinksAmong(none, np.zeros((0, 3), np.int64), np.array([4])).uncounted.tolist()
        [4]
    """

    citations: NDArray[np.int64]
    """(n, 2) the citing paper and the cited one, in ascending order."""
    cocitations: NDArray[np.int64]
    """(m, 3) two papers, the first before the second, and how many papers cite both: at least 1."""
    uncounted: NDArray[np.int64]
    """(u,) papers with so many citations that their co-citations were not counted, ascending."""


def links_among(history: History, rows: ArrayLike, *, most: int = MOST_LINKS) -> LinksAmong:
    """The links among some papers.

    The papers that are cited least are counted first, until ``most`` of their citations would be exceeded. So the cost
    is bounded whatever the papers are, and each count that is given is exact.

    Args:
        history: whose links count.
        rows: (P,) the papers, each once.
        most: citations that are read to count co-citations.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> names = ["vaswani2017attention", "bahdanau2015neural", "devlin2019bert"]
        >>> found = links_among(History.all(corpus), [corpus.row(name) for name in names])
        >>> found.citations.tolist()
        [[0, 1], [2, 0]]
        >>> found.cocitations.tolist()
        [[0, 1, 14], [0, 2, 75], [1, 2, 7]]
    """
    given = np.asarray(rows, np.int64)
    cites = history.cites.contains(given[:, None], given[None, :])
    np.fill_diagonal(cites, False)
    indptr = history.cited_by.indptr
    degrees = np.asarray(indptr[given + 1] - indptr[given], np.int64)
    order = np.argsort(degrees, kind="stable")
    within = np.cumsum(degrees[order]) <= most
    counted = np.sort(order[within])
    owner, citing = history.cited_by.gather(given[counted])
    table = _counts_together(counted[owner], citing, len(given))
    first, second = np.nonzero(np.triu(table, 1))
    return LinksAmong(
        np.argwhere(cites),
        np.stack([first, second, table[first, second]], axis=1),
        np.sort(order[~within]),
    )


def _counts_together(cited: NDArray[np.int64], citing: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    """(count, count) how many papers cite both of two papers.

    Args:
        cited: (n,) positions of cited papers, below ``count``.
        citing: (n,) the paper that cites each; no link twice.
        count: of the positions.
    """
    papers, inverse, links = np.unique(citing, return_inverse=True, return_counts=True)
    several = np.flatnonzero(links > 1)  # a paper that cites one of them alone is no co-citation
    place = np.full(len(papers), -1)
    place[several] = np.arange(len(several))
    row = place[inverse]
    order = np.argsort(row, kind="stable")[np.count_nonzero(row < 0) :]
    row, cited = row[order], cited[order]
    table = np.zeros((count, count), np.int64)
    for start in range(0, len(several), BLOCK):
        part = slice(*np.searchsorted(row, [start, start + BLOCK]))
        cites = np.zeros((min(BLOCK, len(several) - start), count), np.float32)
        cites[row[part] - start, cited[part]] = 1
        table += (cites.T @ cites).astype(np.int64)  # exact: below 2 ** 24
    return table

"""Co-citation counts: what papers that cite some papers also cite (Small, JASIS 1973)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cocite.corpus.history import History
from cocite.protocols import NO_ROW


@dataclass(frozen=True, slots=True)
class Cocited:
    """Papers that are cited together with some papers.

    Attributes:
        rows: (n,) ascending, the papers themselves among them.
        papers: (n,) how many papers cite each and at least one of the given papers.
        shared: (n,) the sum of these papers' weights, which is the number of co-citations where all weights are 1.

    Example:
        >>> Cocited(np.array([4]), np.array([12]), np.array([30.0])).papers.tolist()
        [12]
    """

    rows: NDArray[np.int64]
    papers: NDArray[np.int64]
    shared: NDArray[np.float64]


def count_cocited(
    history: History,
    rows: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    until: int | None = None,
    without: int = NO_ROW,
    most: int | None = None,
) -> Cocited:
    """The papers that are cited together with given papers.

    A citing paper weighs the sum of the weights of the given papers that it cites, so those that cite most of them (by
    bibliographic coupling, Kessler 1963) weigh most.

    Args:
        history: whose links count.
        rows: (S,) the given papers, each once.
        weights: (S,) theirs; 1 by default.
        until: latest year of a citing paper that counts, where years are known; None: any.
        without: a citing paper that does not count.
        most: citing papers that count at most, those of the greatest weights; None: all.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> found = count_cocited(History.all(corpus), [corpus.row("vaswani2017attention")])
        >>> order = np.argsort(-found.shared)
        >>> corpus.ids(found.rows[order[:2]]), found.papers[order[:2]].tolist()
        (['vaswani2017attention', 'devlin2019bert'], [90, 75])
    """
    rows = np.asarray(rows, np.int64)
    given = np.ones(len(rows)) if weights is None else np.asarray(weights, np.float64)
    owner, citing = history.cited_by.gather(rows)
    citing, inverse = np.unique(citing, return_inverse=True)
    of_citing = np.bincount(inverse, given[owner], minlength=len(citing))
    kept = citing != without
    if until is not None:
        kept &= history.corpus.years[citing] <= until
    citing, of_citing = citing[kept], of_citing[kept]
    if most is not None and len(citing) > most:
        best = np.sort(np.argsort(-of_citing, kind="stable")[:most])
        citing, of_citing = citing[best], of_citing[best]
    owner, entries = history.cites.gather(citing)
    found, inverse, papers = np.unique(entries, return_inverse=True, return_counts=True)
    shared = np.bincount(inverse, of_citing[owner], minlength=len(found)).astype(np.float64)
    return Cocited(found.astype(np.int64), papers, shared)

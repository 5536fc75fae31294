"""The papers that a citing paper is not compared with as negatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.protocols import NO_ROW


class ForbiddenNegatives:
    """The papers that are no negatives of a citing paper: itself, what it cites, and papers of later years.

    What a citing paper cites includes the other papers that a context cites: those are known links as well.

    Args:
        history: the known links.
        later: whether papers of later years are forbidden; in the paper they are not.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> forbidden = ForbiddenNegatives(History.all(corpus))
        >>> cited = corpus.cites[200][0]
        >>> forbidden.at(np.array([200, 200, 200]), np.array([200, cited, 3]))  # itself, cited, older and not cited
        array([ True,  True, False])
    """

    def __init__(self, history: History, *, later: bool = True) -> None:
        self.cites = history.cites
        self.years = np.asarray(history.corpus.years)
        self.latest = np.where(self.years > 0, self.years, np.iinfo(np.int16).max).astype(np.int16)
        """(N,) the last year of a citing paper's negatives."""
        if not later:
            self.latest[:] = np.iinfo(np.int16).max

    def at(self, citing: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each paper is forbidden to its citing paper, for broadcastable arrays; ``NO_ROW`` is forbidden."""
        return np.asarray(
            self.cites.contains(citing, rows)
            | (rows == citing)
            | (rows == NO_ROW)
            | (self.years[rows] > self.latest[citing])
        )

    def table(self, citing: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """(Q, C) whether a paper is forbidden, for each of Q citing papers and each of C distinct papers."""
        table = self.years[rows][None] > self.latest[citing][:, None]
        # By the citing papers' citations, which are few, instead of looking up each of Q x C pairs.
        column = np.full(len(self.years), -1, np.int64)
        column[rows] = np.arange(len(rows))
        owner, cited = self.cites.gather(citing)
        at = column[cited]
        table[owner[at >= 0], at[at >= 0]] = True
        own = column[citing]
        table[np.flatnonzero(own >= 0), own[own >= 0]] = True
        return np.asarray(table)

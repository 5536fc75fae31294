"""The papers that a citing paper is not compared with as negatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.protocols import NO_ROW


class ForbiddenNegatives:
    """The papers that are no negatives of a query: its paper, what that cites, and papers of later years.

    A query is a citing paper, or one of the contexts that are given. What a citing paper cites includes the other
    papers that a context cites: those are known links as well.

    Args:
        history: the known links.
        later: whether papers of later years are forbidden; in the paper they are not.
        contexts: the citing paper of each query, and what the query alone cites: then the queries are contexts, and of
            what their paper cites they forbid this alone. None: queries are the papers.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> forbidden = ForbiddenNegatives(History.all(corpus))
        >>> cited = corpus.cites[200][0]
        >>> forbidden.at(np.array([200, 200, 200]), np.array([200, cited, 3]))  # itself, cited, older and not cited
        array([ True,  True, False])
        >>> contexts = np.array([200, 200]), CSR.build([0, 1], [cited, 3], 2)
        >>> ForbiddenNegatives(History.all(corpus), contexts=contexts).at(np.array([0, 1]), np.array([cited, cited]))
        array([ True, False])
    """

    def __init__(
        self,
        history: History,
        *,
        later: bool = True,
        contexts: tuple[NDArray[np.int32], CSR] | None = None,
    ) -> None:
        self.years = np.asarray(history.corpus.years)
        self._own: NDArray[np.int32] | None = None
        self.cites = history.cites
        if contexts is not None:
            self._own, self.cites = contexts
        self._later = later

    def own(self, queries: NDArray[np.integer]) -> NDArray[np.int32]:
        """The paper of each query."""
        return np.asarray(queries if self._own is None else self._own[queries], np.int32)

    def latest(self, citing: NDArray[np.integer]) -> NDArray[np.int16]:
        """The last year of the negatives of citing papers."""
        years = self.years[citing]
        return np.where((years > 0) & self._later, years, np.iinfo(np.int16).max).astype(np.int16)

    def at(self, queries: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each paper is forbidden to its query, for broadcastable arrays; ``NO_ROW`` is forbidden."""
        own = self.own(queries)
        return np.asarray(
            self.cites.contains(queries, rows)
            | (rows == own)
            | (rows == NO_ROW)
            | (self.years[rows] > self.latest(own))
        )

    def table(self, queries: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """(Q, C) whether a paper is forbidden, for each of Q queries and each of C distinct papers."""
        own = self.own(queries)
        table = self.years[rows][None] > self.latest(own)[:, None]
        # By the queries' citations, which are few, instead of looking up each of Q x C pairs.
        owner, cited = self.cites.gather(queries)
        order = np.argsort(rows)
        ascending = rows[order]
        for query, paper in ((owner, cited), (np.arange(len(own)), own)):
            place = np.minimum(np.searchsorted(ascending, paper), len(rows) - 1)
            among = ascending[place] == paper
            table[query[among], order[place[among]]] = True
        return np.asarray(table)

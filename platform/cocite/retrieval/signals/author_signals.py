"""Signals of authors and venues: shared authors, what they cited before, and surnames that a context mentions.

Names are compared as :mod:`cocite.retrieval.index.name_tables` says, whose tables are a part of the index: nothing is
made at opening. All counts come from the index' history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import Query
from cocite.retrieval.index.name_tables import NameTable
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.signals.self_citations import SelfCitations
from cocite.retrieval.signals.sparse_scores import SparseScores
from cocite.retrieval.signals.venue_citations import VenueCitations

_WORD = re.compile(r"\w{3,}")


class AuthorSignals:
    """Counts over the authors and venues of an index' papers.

    Args:
        index: whose history is counted.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> corpus = starter_corpus()
        >>> signals = AuthorSignals(Index.build(corpus, History.all(corpus)))
        >>> mentioned = signals.names_in(["as Kuhns showed"])
        >>> corpus.paper(int(mentioned.papers[0])).authors, mentioned.values.round(2)
        (('M. E. Maron', 'J. L. Kuhns'), array([6.05], dtype=float32))
    """

    def __init__(self, index: SearchIndex) -> None:
        self.index = index
        names = index.name_tables
        self._authors, self._surnames, self._venues = names.authors, names.surnames, names.venues
        self._cited_by_venue = VenueCitations(index.history, self._venues.papers)

    def shared_authors(self, queries: Sequence[Query]) -> SparseScores:
        """(Q, N) how many authors query and paper have in common."""
        owner, authors = self._known_authors(queries)
        return self._sum(self._authors.papers, queries, owner, authors, np.ones(len(authors)))

    def past_citations(self, queries: Sequence[Query], own: SelfCitations) -> SparseScores:
        """(Q, N) how often the query's authors have cited a paper, elsewhere than in the query's own paper."""
        owner, authors = self._known_authors(queries)
        author, papers = self._authors.papers.gather(authors)
        owner = owner[author]
        other = ~own.present[owner] | (papers != own.papers[owner])
        owner, papers = owner[other], papers[other]
        return self._sum(self.index.history.cites, queries, owner, papers, np.ones(len(papers)))

    def venue_interest(self, queries: Sequence[Query], own: SelfCitations) -> SparseScores:
        """(Q, N) how often other papers of the query's venue have cited a paper."""
        nothing = (np.zeros(0, np.int32), np.zeros(0, np.float32))
        rows = []
        for i, venue in enumerate(self._venues.find([query.venue for query in queries]).tolist()):
            cited, times = nothing if venue < 0 else self._cited_by_venue.of(venue)
            if own.present[i] and venue >= 0 and _holds(self._venues.papers[venue], own.papers[i]):
                times = times.copy()
                times[np.searchsorted(cited, self.index.history.cites[own.papers[i]])] -= 1
            rows.append((cited, times))
        return SparseScores.stack(rows, len(self.index))

    def names_in(self, texts: Sequence[str]) -> SparseScores:
        """(Q, N) weight of a paper's author surnames that a text mentions, rarer names weighing more."""
        words = [[word.lower() for word in _WORD.findall(text) if word[0].isupper()] for text in texts]
        owner, names = _known(words, self._surnames)
        papers = self._surnames.papers
        bearers = papers.indptr[names + 1] - papers.indptr[names]
        weights = np.log(max(len(self.index), 2) / bearers).astype(np.float32)
        return self._sum(papers, texts, owner, names, weights)

    def papers_of(self, authors: Sequence[str]) -> NDArray[np.int32]:
        """Rows of all papers by any of these authors."""
        _, ids = _known([[author.strip().lower() for author in authors]], self._authors)
        return np.unique(self._authors.papers.gather(ids)[1])

    def _known_authors(self, queries: Sequence[Query]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The queries' authors who have papers: position of the query, and number."""
        return _known([[name.strip().lower() for name in query.authors] for query in queries], self._authors)

    def _sum(self, lists: CSR, queries: Sequence[Any], owner: Any, rows: Any, values: Any) -> SparseScores:
        return SparseScores.sum_lists(lists, owner, rows, values, (len(queries), len(self.index)))


def _known(names: Sequence[Iterable[str]], table: NameTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of each query's known names, each once: position of the query, and number."""
    once = [list(dict.fromkeys(own)) for own in names]
    numbers = table.find([name for own in once for name in own])
    owner = np.repeat(np.arange(len(names)), [len(own) for own in once])
    return owner[numbers >= 0], numbers[numbers >= 0]


def _holds(rows: NDArray[np.int32], row: int) -> bool:
    """Whether a row is among ascending ones."""
    at = np.searchsorted(rows, row)
    return bool(at < len(rows) and rows[at] == row)

"""Signals of authors and venues: shared authors, what they cited before, and surnames that a context mentions.

Author names are compared as they are written, lower case. All counts come from the index' history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import Query
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.signals.self_citations import SelfCitations
from cocite.retrieval.signals.sparse_scores import SparseScores

_WORD = re.compile(r"\w{3,}")
VENUES = 64
"""Venues whose citations are kept counted."""


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
        table = index.corpus.papers.table
        papers, names, written = _names(table["authors"])
        self._author_ids, author_of = _numbered([name.strip().lower() for name in written])
        self._papers_of_author = _incidence(author_of[names], papers, len(self._author_ids))
        authors, papers_of_authors = self._papers_of_author.pairs()
        last = [parts[-1] if (parts := name.split()) else "" for name in self._author_ids]
        self._surname_ids, surname_of = _numbered([name if len(name) > 2 else "" for name in last])
        self._papers_of_surname = _incidence(surname_of[authors], papers_of_authors, len(self._surname_ids))
        rows, venues, written = _names(table["venue"])
        self._venue_ids, venue_of = _numbered(written)
        self._papers_of_venue = _incidence(venue_of[venues], rows, len(self._venue_ids))
        bearers = np.maximum(self._papers_of_surname.degrees, 1)
        self._surname_weight = np.log(max(len(index), 2) / bearers).astype(np.float32)
        self._cited_by_venue = lru_cache(VENUES)(self._count_citations_of_venue)

    def shared_authors(self, queries: Sequence[Query]) -> SparseScores:
        """(Q, N) how many authors query and paper have in common."""
        owner, papers = self._papers_by_authors(queries)
        return self._scores(queries, owner, papers, np.ones(len(papers)))

    def past_citations(self, queries: Sequence[Query], own: SelfCitations) -> SparseScores:
        """(Q, N) how often the query's authors have cited a paper, elsewhere than in the query's own paper."""
        owner, papers = self._papers_by_authors(queries)
        other = ~own.present[owner] | (papers != own.papers[owner])
        owner, papers = owner[other], papers[other]
        link, cited = self.index.history.cites.gather(papers)
        return self._scores(queries, owner[link], cited, np.ones(len(cited)))

    def venue_interest(self, queries: Sequence[Query], own: SelfCitations) -> SparseScores:
        """(Q, N) how often other papers of the query's venue have cited a paper."""
        nothing = (np.zeros(0, np.int32), np.zeros(0, np.float32))
        rows = []
        for i, query in enumerate(queries):
            venue = self._venue_ids.get(query.venue, -1)
            cited, times = nothing if venue < 0 else self._cited_by_venue(venue)
            if own.present[i] and venue >= 0 and own.papers[i] in self._papers_of_venue[venue]:
                times = times.copy()
                times[np.searchsorted(cited, self.index.history.cites[own.papers[i]])] -= 1
            rows.append((cited, times))
        return SparseScores.stack(rows, len(self.index))

    def _count_citations_of_venue(self, venue: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The papers that a venue's papers cite, and how often."""
        _, cited = self.index.history.cites.gather(self._papers_of_venue[venue])
        papers, times = np.unique(cited, return_counts=True)
        return papers, times.astype(np.float32)

    def names_in(self, texts: Sequence[str]) -> SparseScores:
        """(Q, N) weight of a paper's author surnames that a text mentions, rarer names weighing more."""
        words = [[word.lower() for word in _WORD.findall(text) if word[0].isupper()] for text in texts]
        owner, names = _known(words, self._surname_ids)
        name, papers = self._papers_of_surname.gather(names)
        return self._scores(texts, owner[name], papers, self._surname_weight[names[name]])

    def papers_of(self, authors: Sequence[str]) -> NDArray[np.int32]:
        """Rows of all papers by any of these authors."""
        _, ids = _known([[author.strip().lower() for author in authors]], self._author_ids)
        return np.unique(self._papers_of_author.gather(ids)[1])

    def _papers_by_authors(self, queries: Sequence[Query]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The papers of the queries' authors: position of the query, and row; once for each shared author."""
        names = [[name.strip().lower() for name in query.authors] for query in queries]
        owner, ids = _known(names, self._author_ids)
        author, papers = self._papers_of_author.gather(ids)
        return owner[author], papers

    def _scores(self, queries: Sequence[Any], owner: Any, papers: Any, values: Any) -> SparseScores:
        return SparseScores.sum(owner, papers, values, (len(queries), len(self.index)))


def _names(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """The strings of a column of strings, or of lists of them, each distinct one read once.

    Returns:
        ``(papers, names, written)``: paper ``papers[i]`` has the string ``written[names[i]]``.
    """
    if pa.types.is_list(column.type):
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
        papers, column = np.repeat(np.arange(len(column)), lengths), pc.list_flatten(column)
    else:
        papers = np.arange(len(column))
    codes = pc.dictionary_encode(column).combine_chunks()
    if isinstance(codes, pa.ChunkedArray):
        codes = codes.chunk(0) if codes.num_chunks else pa.array([], pa.dictionary(pa.int32(), pa.string()))
    present = codes.is_valid().to_numpy(zero_copy_only=False)
    names = codes.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return papers[present], names[present], codes.dictionary.to_pylist()


def _numbered(names: Sequence[str]) -> tuple[dict[str, int], NDArray[np.int64]]:
    """Numbers of the distinct names, and the number of each of ``names``; -1 for empty ones, which are none."""
    ids: dict[str, int] = {}
    numbers = [ids.setdefault(name, len(ids)) if name else -1 for name in names]
    return ids, np.array(numbers, np.int64)


def _incidence(rows: NDArray[Any], columns: NDArray[Any], count: int) -> CSR:
    """For each of ``count`` rows its columns; pairs of a negative row are left out."""
    kept = rows >= 0
    return CSR.build(rows[kept], columns[kept], count)


def _known(
    names: Sequence[Iterable[str]], ids: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of each query's known names, each once: position of the query, and number."""
    numbers = [sorted({ids[name] for name in own if name in ids}) for own in names]
    owner = np.repeat(np.arange(len(names)), [len(own) for own in numbers])
    return owner, np.array([number for own in numbers for number in own], np.int64)

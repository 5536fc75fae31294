"""Signals of authors and venues: shared authors, what they cited before, and surnames that a context mentions.

Author names are compared as they are written, lower case. All counts come from the index' history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.self_citations import SelfCitations

_WORD = re.compile(r"\w{3,}")


class AuthorSignals:
    """Counts over the authors and venues of an index' papers.

    Args:
        index: whose history is counted.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> signals = AuthorSignals(Index.build(corpus, History.all(corpus)))
        >>> mentioned = signals.names_in(["as Kuhns showed"])
        >>> corpus.paper(int(mentioned.indices[0])).authors, mentioned.data.round(2)
        (('M. E. Maron', 'J. L. Kuhns'), array([6.05], dtype=float32))
    """

    def __init__(self, index: Index) -> None:
        table = index.corpus.papers.table
        papers, names, written = _names(table["authors"])
        self._author_ids, author_of = _numbered([name.strip().lower() for name in written])
        self.authors = _incidence(papers, author_of[names], (len(index), len(self._author_ids)))
        last = [parts[-1] if (parts := name.split()) else "" for name in self._author_ids]
        self._surname_ids, surname_of = _numbered([name if len(name) > 2 else "" for name in last])
        papers, authors = self.authors.nonzero()
        self.surnames = _incidence(papers, surname_of[authors], (len(index), len(self._surname_ids)))
        papers, venues, written = _names(table["venue"])
        self._venue_ids, venue_of = _numbered(written)
        self._venue_of = _incidence(papers, venue_of[venues], (len(index), len(self._venue_ids)))
        self._papers_of_author = self.authors.T.tocsr()
        self._papers_of_surname = self.surnames.T.tocsr()
        self._papers_of_venue = self._venue_of.T.tocsr()
        self._cites = _matrix(index.history.cites, len(index))
        bearers = np.maximum(np.asarray(self.surnames.sum(axis=0)).ravel(), 1)
        self._surname_weight = np.log(max(len(index), 2) / bearers).astype(np.float32)

    def shared_authors(self, queries: Sequence[Query]) -> sp.csr_matrix:
        """(Q, N) how many authors query and paper have in common."""
        return (self._authors_of(queries) @ self._papers_of_author).tocsr()

    def past_citations(self, queries: Sequence[Query], own: SelfCitations) -> sp.csr_matrix:
        """(Q, N) how often the query's authors have cited a paper, elsewhere than in the query's own paper."""
        authors = self._authors_of(queries)
        shared = np.asarray(authors.multiply(self.authors[own.papers]).sum(axis=1)).ravel()
        cited = authors @ self._papers_of_author @ self._cites
        return (cited - sp.diags(shared) @ own.links).tocsr()

    def venue_interest(self, queries: Sequence[Query], own: SelfCitations) -> sp.csr_matrix:
        """(Q, N) how often other papers of the query's venue have cited a paper."""
        venues = _rows([[query.venue] for query in queries], self._venue_ids)
        shared = np.asarray(venues.multiply(self._venue_of[own.papers]).sum(axis=1)).ravel()
        cited = venues @ self._papers_of_venue @ self._cites
        return (cited - sp.diags(shared) @ own.links).tocsr()

    def names_in(self, texts: Sequence[str]) -> sp.csr_matrix:
        """(Q, N) weight of a paper's author surnames that a text mentions, rarer names weighing more."""
        words = [[word.lower() for word in _WORD.findall(text) if word[0].isupper()] for text in texts]
        mentioned = _rows(words, self._surname_ids) @ sp.diags(self._surname_weight)
        return (mentioned @ self._papers_of_surname).tocsr()

    def papers_of(self, authors: Sequence[str]) -> NDArray[np.int32]:
        """Rows of all papers by any of these authors."""
        ids = [
            self._author_ids[name]
            for author in authors
            if (name := author.strip().lower()) in self._author_ids
        ]
        return np.unique(self._papers_of_author[ids].indices)

    def _authors_of(self, queries: Sequence[Query]) -> sp.csr_matrix:
        return _rows(
            [[name.strip().lower() for name in query.authors] for query in queries], self._author_ids
        )


def _matrix(csr: CSR, columns: int) -> sp.csr_matrix:
    ones = np.ones(len(csr.indices), np.float32)
    return sp.csr_matrix((ones, csr.indices, csr.indptr), shape=(len(csr), columns))


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


def _incidence(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> sp.csr_matrix:
    """1 where a row has a column; negative columns are left out."""
    kept = columns >= 0
    return _matrix(CSR.build(rows[kept], columns[kept], shape[0]), shape[1])


def _rows(names: Sequence[Iterable[str]], ids: dict[str, int]) -> sp.csr_matrix:
    columns = [sorted({ids[name] for name in own if name in ids}) for own in names]
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in columns])])
    flat = np.array([column for own in columns for column in own], np.int32)
    return sp.csr_matrix((np.ones(len(flat), np.float32), flat, indptr), shape=(len(names), len(ids)))


def gather(matrix: sp.csr_matrix, rows: NDArray[np.int32]) -> NDArray[np.float32]:
    """(Q, k) entries of a sparse (Q, N) matrix at given columns; 0 at ``NO_ROW``."""
    matrix.sort_indices()
    if not matrix.nnz or not rows.size:
        return np.zeros(rows.shape, np.float32)
    width = np.int64(matrix.shape[1])
    keys = np.repeat(np.arange(len(rows)), np.diff(matrix.indptr)) * width + matrix.indices
    wanted = np.arange(len(rows))[:, None] * width + rows
    position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    present = (keys[position] == wanted) & (rows != NO_ROW)
    return np.where(present, matrix.data[position], 0).astype(np.float32)

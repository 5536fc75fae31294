"""What authors and venues tell: who wrote it, what they cited before, and names that a context mentions.

Author names are compared as they are written, lower case. All counts come from the index' history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index import Index
from cocite.retrieval.own_links import OwnLinks

_CAPITALISED = re.compile(r"\b[A-Z]\w\w+")


class People:
    """Authors and venues of an index' papers, and whom they cited."""

    def __init__(self, index: Index) -> None:
        table = index.corpus.papers.table
        names = [[author.strip().lower() for author in authors] for authors in table["authors"].to_pylist()]
        self.authors, self._author_ids = _incidence(names)
        self.surnames, self._surname_ids = _incidence(
            [
                [parts[-1] for name in authors if (parts := name.split()) and len(parts[-1]) > 2]
                for authors in names
            ]
        )
        venues = [[venue] if venue else [] for venue in table["venue"].to_pylist()]
        self._venue_of, self._venue_ids = _incidence(venues)
        self._papers_of_author = self.authors.T.tocsr()
        self._papers_of_surname = self.surnames.T.tocsr()
        cites = _matrix(index.history.cites, len(index))
        self.author_citations = (self._papers_of_author @ cites).tocsr()
        self.venue_citations = (self._venue_of.T.tocsr() @ cites).tocsr()
        bearers = np.maximum(np.asarray(self.surnames.sum(axis=0)).ravel(), 1)
        self._surname_weight = np.log(max(len(index), 2) / bearers).astype(np.float32)

    def shared_authors(self, queries: Sequence[Query]) -> sp.csr_matrix:
        """(Q, N) how many authors query and paper have in common."""
        return (self._authors_of(queries) @ self._papers_of_author).tocsr()

    def past_citations(self, queries: Sequence[Query], own: OwnLinks) -> sp.csr_matrix:
        """(Q, N) how often the query's authors have cited a paper, elsewhere than in the query's own paper."""
        authors = self._authors_of(queries)
        mine = np.asarray(authors.multiply(self.authors[own.papers]).sum(axis=1)).ravel()
        return (authors @ self.author_citations - sp.diags(mine) @ own.links).tocsr()

    def venue_interest(self, queries: Sequence[Query], own: OwnLinks) -> sp.csr_matrix:
        """(Q, N) how often other papers of the query's venue have cited a paper."""
        venues = _rows([[query.venue] for query in queries], self._venue_ids)
        mine = np.asarray(venues.multiply(self._venue_of[own.papers]).sum(axis=1)).ravel()
        return (venues @ self.venue_citations - sp.diags(mine) @ own.links).tocsr()

    def names_in(self, texts: Sequence[str]) -> sp.csr_matrix:
        """(Q, N) weight of a paper's author surnames that a text mentions, rarer names weighing more."""
        words = [[word.lower() for word in _CAPITALISED.findall(text)] for text in texts]
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


def _incidence(names: Iterable[Iterable[str]]) -> tuple[sp.csr_matrix, dict[str, int]]:
    """(rows, names) 1 where a row has a name, and the columns of the names."""
    ids: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    count = 0
    for row, own in enumerate(names):
        distinct = sorted({name for name in own if name})
        columns.extend(ids.setdefault(name, len(ids)) for name in distinct)
        rows.extend([row] * len(distinct))
        count = row + 1
    ones = np.ones(len(rows), np.float32)
    return sp.csr_matrix((ones, (rows, columns)), shape=(count, len(ids))), ids


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
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    present = (keys[found] == wanted) & (rows != NO_ROW)
    return np.where(present, matrix.data[found], 0).astype(np.float32)

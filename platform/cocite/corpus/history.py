"""The links and contexts that are known at a point in time.

Every count, vote and expansion link comes from a :class:`History`, never from the corpus as a whole, so that
nothing of the future or of the test split can reach a feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.cocitation import count_pairs
from cocite.corpus.csr import CSR
from cocite.corpus.records import SPLITS
from cocite.corpus.splits import split_papers
from cocite.corpus.store import Corpus
from cocite.errors import InputError


@dataclass(frozen=True)
class History:
    """The links and contexts of some citing papers of a corpus.

    Attributes:
        corpus: the store.
        citing: (N,) whether a paper's links and contexts are known.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> paper = corpus.row("vaswani2017attention")
        >>> for year in (2017, 2019):  # how often the paper had been cited by then
        ...     print(year, History.until(corpus, year).in_citations[paper])
        2017 0
        2019 34
    """

    corpus: Corpus
    citing: NDArray[np.bool_]

    @classmethod
    def until(cls, corpus: Corpus, year: int) -> History:
        """The links and contexts of papers of a known year up to and including ``year``."""
        return cls(corpus, (corpus.years > 0) & (corpus.years <= year))

    def rewound(self, year: int) -> History:
        """What of this history was known when nothing later than ``year`` had been written."""
        return History(self.corpus, self.citing & History.until(self.corpus, year).citing)

    @classmethod
    def all(cls, corpus: Corpus) -> History:
        """All links and contexts of the corpus: for serving."""
        return cls(corpus, np.ones(len(corpus), bool))

    @property
    def is_cold(self) -> bool:
        """Whether no known paper has a link, so that every count of citations is zero."""
        return not (self.citing & (self.corpus.cites.degrees > 0)).any()

    @cached_property
    def year(self) -> int:
        """The latest year of a known citing paper with a link; 0 when there is none."""
        known = self.citing & (self.corpus.cites.degrees > 0)
        return int(self.corpus.years[known].max()) if known.any() else 0

    @cached_property
    def cites(self) -> CSR:
        """The papers that each paper is known to cite."""
        cites = self.corpus.cites
        # The store's own arrays are memory-mapped: they are copied only where links are left out.
        return cites if self.citing.all() else cites.keep(np.repeat(self.citing, cites.degrees))

    @cached_property
    def cited_by(self) -> CSR:
        """The papers that are known to cite each paper."""
        cited_by = self.corpus.cited_by
        return cited_by if self.citing.all() else cited_by.keep(self.citing[cited_by.indices])

    @cached_property
    def in_citations(self) -> NDArray[np.int32]:
        """(N,) how many known papers cite each paper."""
        return self.corpus.cites.occurrences(len(self.corpus), None if self.citing.all() else self.citing)

    @cached_property
    def occurrences(self) -> NDArray[np.int32]:
        """(N,) how often each paper is cited in known contexts, by other papers: several times by one paper, if so."""
        owner, rows = self.corpus.context_cited.gather(self.contexts)
        other = rows != self.corpus.context_citing[self.contexts][owner]
        return np.bincount(rows[other], minlength=len(self.corpus)).astype(np.int32)

    def recent_in_citations(self, years: int) -> NDArray[np.int32]:
        """(N,) how many known papers of the last ``years`` years cite each paper."""
        recent = self.citing & (np.asarray(self.corpus.years) > self.year - years)
        return self.corpus.cites.occurrences(len(self.corpus), recent)

    @cached_property
    def contexts(self) -> NDArray[np.int64]:
        """Positions of the known contexts in ``corpus.contexts``, ascending."""
        return np.flatnonzero(self.citing[self.corpus.context_citing])

    def context_positions(self, known: NDArray[np.int32]) -> NDArray[Any]:
        """Positions in ``corpus.contexts`` of some known contexts, given by their positions among the known ones."""
        return known if self.citing.all() else self.contexts[known]

    @cached_property
    def cocitations(self) -> tuple[CSR, NDArray[np.int32]]:
        """The papers that each paper is cited with in known contexts, and how often (aligned with ``indices``)."""
        groups = self.corpus.context_cited
        owner, members = groups.gather(self.contexts)
        indptr = np.searchsorted(owner, np.arange(len(self.contexts) + 1))
        return count_pairs(CSR(indptr.astype(np.int64), members), len(self.corpus))


def history_before(corpus: Corpus, split: str) -> History:
    """The links and contexts that may be known when a split is judged.

    Where the corpus is split by year, those are the ones of papers of earlier years; otherwise (a random split, or
    years unknown) those of the earlier splits: train and dev before ``test``, train before ``dev``.

    Raises:
        InputError: there is no such split, or no paper belongs to it.
    """
    of_split = split_papers(corpus, split)
    earlier = (corpus.split > 0) & (corpus.split < SPLITS.index(split))
    years = corpus.years[of_split]
    if (years > 0).all() and not (corpus.years[earlier] >= years.min()).any():
        return History.until(corpus, int(years.min()) - 1)
    return History(corpus, np.asarray(earlier))


def known_history(
    corpus: Corpus, *, known_until: int | None = None, before_split: str | None = None
) -> History:
    """The links and contexts that an index is to know: all, those up to a year, or those known before a split.

    Raises:
        InputError: both are given, or the corpus has no such split.
    """
    if known_until is not None and before_split is not None:
        raise InputError(
            f"the year {known_until} and the split {before_split!r} both say what is known",
            hint="give one of them",
        )
    if before_split is not None:
        return history_before(corpus, before_split)
    return History.all(corpus) if known_until is None else History.until(corpus, known_until)

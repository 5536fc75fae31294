"""What an index knows of its papers, whatever searches them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.engines.domain_limits import DomainLimits
from cocite.retrieval.index.known_contexts import KnownContexts
from cocite.retrieval.index.name_tables import NameTables


@dataclass(frozen=True)
class Collection:
    """The papers of an index, and whose links and contexts are known.

    Attributes:
        corpus: the papers.
        history: whose links and contexts are known; removed papers are not among them.
        alive: (N,) False for removed papers, which are never retrieved.
        names: the papers of each author, surname and venue; None: they are made when they are first asked for.
        known: the contexts of the history; None: likewise.
        domain: beyond which a text is unlike the papers; None: not known, as in memory, and in versions that an
            earlier cocite made.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> collection = Collection(corpus, History.until(corpus, 2005), np.ones(len(corpus), bool))
        >>> len(collection), collection.history.year
        (423, 2005)
    """

    corpus: Corpus
    history: History
    alive: NDArray[np.bool_]
    names: NameTables | None = field(default=None, repr=False, kw_only=True)
    known: KnownContexts | None = field(default=None, repr=False, kw_only=True)
    domain: DomainLimits | None = field(default=None, repr=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.corpus)

    @cached_property
    def cited_by_context(self) -> CSR:
        """For each known context, the papers that it cites."""
        return self._known.cited

    @cached_property
    def context_papers(self) -> NDArray[np.int32]:
        """For each known context, the citing row; ascending."""
        return self._known.papers

    @cached_property
    def _known(self) -> KnownContexts:
        return KnownContexts.of(self.history) if self.known is None else self.known

    @cached_property
    def name_tables(self) -> NameTables:
        """The papers of each author, surname and venue."""
        return NameTables(self.corpus) if self.names is None else self.names

    def without(self, rows: NDArray[Any]) -> Collection:
        """The same rows, of which some are removed: those papers are not retrieved, and their links are not known."""
        alive, citing = np.array(self.alive), np.array(self.history.citing)
        alive[rows] = citing[rows] = False
        return Collection(self.corpus, History(self.corpus, citing), alive, names=self.names)

    def forbid(self, scores: NDArray[np.float32], queries: Sequence[Query]) -> NDArray[np.float32]:
        """Set to ``-inf``, in place, the scores of papers that a query may not retrieve.

        Those are removed papers, the query's own paper, papers that it excludes, and papers later than it allows.

        Args:
            scores: dense (Q, N).
            queries: the Q queries.

        Returns:
            ``scores`` itself.
        """
        if not self.alive.all():
            scores[:, ~self.alive] = -np.inf
        limits = last_years(queries)
        if limits is not None:
            scores[self.corpus.years > limits[:, None]] = -np.inf
        for row, query in zip(scores, queries, strict=True):
            if query.paper != NO_ROW:
                row[query.paper] = -np.inf
            if query.exclude:
                row[list(query.exclude)] = -np.inf
        return scores


def last_years(queries: Sequence[Query]) -> NDArray[np.int32] | None:
    """(Q,) the latest year of each query's candidates, beyond every year where it has no limit; None: none has one."""
    if all(query.candidates_until is None for query in queries):
        return None
    beyond = np.iinfo(np.int32).max
    limits = [beyond if query.candidates_until is None else query.candidates_until for query in queries]
    return np.array(limits, np.int32)

"""An index: all that the first stage searches, made of one corpus and one history.

It lives in memory (:meth:`Index.build`, for training and evaluation) or in a snapshot folder
(:mod:`cocite.retrieval.index.snapshot`); retrievers search both alike. How it is made of its parts says
:mod:`cocite.retrieval.index.plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import NO_ROW, Encoder, Query
from cocite.retrieval.engines.anchor_texts import cited_by_context
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.index.documents import Advance, ignore_progress
from cocite.retrieval.index.paper_indexes import PaperIndexes
from cocite.retrieval.index.parts import IndexParts
from cocite.retrieval.index.plan import BuildPlan


@dataclass(frozen=True)
class Index(IndexParts):
    """What the first stage searches: the parts of an index with what retrievers ask of them.

    Attributes:
        version: name of the snapshot; empty in memory.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> index = Index.build(corpus, History.all(corpus))
        >>> ranking = index.papers["title"].search(["probabilistic relevance framework"], 1)
        >>> corpus.paper(int(ranking.rows[0, 0])).title
        'The Probabilistic Relevance Framework: BM25 and Beyond'
        >>> index.rewind(1999).history.year
        1999
    """

    version: str = field(default="")

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        history: History,
        *,
        encoders: Sequence[Encoder] = (),
        bm25: Bm25Fields | None = None,
        vector_kind: str = "auto",
        advance: Advance = ignore_progress,
    ) -> Index:
        """Index a corpus in memory.

        Args:
            corpus: the papers.
            history: whose links and contexts are known.
            encoders: each makes its vectors; without one there are none.
            bm25: k1 and b of the papers' fields; the usual ones by default.
            vector_kind: ``auto`` or one of :data:`cocite.retrieval.engines.vectors.KINDS`.
            advance: receives the number of papers, contexts and vectors indexed since its last call.
        """
        plan = BuildPlan.new(corpus, history, encoders, bm25=bm25, vector_kind=vector_kind)
        return cls(**vars(plan.make(advance)))

    def rewind(self, year: int) -> Self:
        """The index as it would be if nothing later than ``year`` had been cited: same papers, shorter history.

        The contexts' statistics are those of the remaining ones alone, so that no later sentence leaves a trace.
        """
        known = History(self.corpus, self.history.citing & History.until(self.corpus, year).citing)
        return self.with_history(known)

    def with_history(self, history: History) -> Self:
        """The same papers under a history that is a part of the present one.

        Raises:
            ValueError: it is not a part of the present one.
        """
        return self._execute(BuildPlan.with_history(self, history))

    def with_vectors(
        self, encoder: Encoder, kind: str = "auto", *, advance: Advance = ignore_progress
    ) -> Self:
        """The same index with one more encoder's vectors, which replace those of another encoder of its name."""
        return self._execute(BuildPlan.with_vectors(self, encoder, kind), advance)

    def _execute(self, plan: BuildPlan, advance: Advance = ignore_progress) -> Self:
        # An opened snapshot stays one: its lock keeps the files of the parts that are reused.
        return replace(self, **vars(plan.make(advance)))

    def __len__(self) -> int:
        return len(self.corpus)

    @property
    def bm25(self) -> Bm25Fields:
        """k1 and b of the papers' fields."""
        return self.papers.settings if isinstance(self.papers, PaperIndexes) else Bm25Fields.of(self.papers)

    @cached_property
    def cited_by_context(self) -> CSR:
        """For each document of ``contexts``, the papers that context cites."""
        return cited_by_context(self.history)

    @cached_property
    def context_papers(self) -> NDArray[np.int32]:
        """For each document of ``contexts``, the citing row; ascending."""
        return self.corpus.context_citing[self.history.contexts]

    def check_encoder(self, encoder: Encoder) -> VectorIndex:
        """The vectors of the encoder's name.

        Raises:
            InputError: there are none, or another encoder of that name made them.
        """
        if encoder.name not in self.vectors:
            raise InputError(
                f"the index holds no vectors of {encoder.name}",
                where=f"index version {self.version}" if self.version else None,
                hint="build it with --model",
            )
        if encoder.id != self.encoder_ids[encoder.name]:
            raise InputError(
                f"the vectors of {encoder.name} were made by encoder {self.encoder_ids[encoder.name]}, "
                f"not {encoder.id}",
                where=self.version or None,
                hint="build the index again with this model, or load the model it was built with",
            )
        return self.vectors[encoder.name]

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

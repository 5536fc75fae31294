"""An index: all that the first stage searches, made of one corpus and one history.

It lives in memory (:meth:`Index.build`, for training and evaluation) or in a snapshot folder
(:mod:`cocite.retrieval.index.snapshot`); retrievers search both alike. How it is made of its parts says
:mod:`cocite.retrieval.index.plan`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import Encoder, Query
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.engines.query_words import QueryWords
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.index.documents import Advance, ignore_progress
from cocite.retrieval.index.domain import are_unlike
from cocite.retrieval.index.paper_indexes import PaperIndexes
from cocite.retrieval.index.parts import IndexParts
from cocite.retrieval.index.plan import BuildPlan
from cocite.retrieval.shards.group import LocalShards
from cocite.retrieval.shards.shard import IndexShard


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
        return self.with_history(self.history.rewound(year))

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

    @property
    def bm25(self) -> Bm25Fields:
        """k1 and b of the papers' fields."""
        return self.papers.settings if isinstance(self.papers, PaperIndexes) else Bm25Fields.of(self.papers)

    @cached_property
    def shards(self) -> LocalShards:
        """The whole index as one shard."""
        alive = None if self.alive.all() else self.alive
        return LocalShards(
            [
                IndexShard(
                    first=0,
                    first_context=0,
                    papers=self.papers,
                    contexts=self.contexts,
                    anchors=self.anchors,
                    vectors=self.vectors,
                    years=self.corpus.years,
                    alive=alive,
                )
            ]
        )

    def paper_words(self, texts: Sequence[str]) -> QueryWords:
        """The words of some texts in the vocabulary of the papers' fields."""
        return self.papers["text"].query_words(texts)

    def context_words(self, texts: Sequence[str]) -> QueryWords:
        """The words of some texts in the vocabulary of the contexts."""
        return self.contexts.query_words(texts)

    def are_unlike(self, queries: Sequence[Query]) -> NDArray[np.bool_]:
        """(Q,) whether each query's text is unlike the papers; of none where no limits are known."""
        if self.domain is None:
            return np.zeros(len(queries), bool)
        return are_unlike(self.domain, self.papers["text"], self.contexts, queries)

    def shared_terms(
        self, text: str, rows: Sequence[int], limit: int, ignore: Collection[str]
    ) -> list[list[tuple[str, float]]]:
        """See :meth:`Bm25Index.shared_terms`: the words that papers share with a text, heaviest first."""
        return self.papers["text"].shared_terms(text, rows, limit, ignore)

    def paper_vectors(self, name: str) -> NDArray[np.float32]:
        """(N, d) the vectors of an encoder's name, possibly memory-mapped."""
        return self.vectors[name].raw

    def check_encoder(self, encoder: Encoder) -> VectorIndex:
        """The vectors of the encoder's name.

        Raises:
            InputError: there are none, or another encoder of that name made them.
        """
        check_encoder(encoder, self.encoder_ids, self.version)
        return self.vectors[encoder.name]


def check_encoder(encoder: Encoder, ids: Mapping[str, str], version: str) -> None:
    """Refuse an encoder that did not make the vectors of its name in an index.

    Args:
        encoder: makes the queries' vectors.
        ids: of the encoders that made the papers' vectors, by name.
        version: of the index; empty in memory.

    Raises:
        InputError: there are no vectors of its name, or another encoder made them.
    """
    if encoder.name not in ids:
        raise InputError(
            f"the index holds no vectors of {encoder.name}",
            where=f"index version {version}" if version else None,
            hint="build it with --model",
        )
    if encoder.id != ids[encoder.name]:
        raise InputError(
            f"the vectors of {encoder.name} were made by encoder {ids[encoder.name]}, not {encoder.id}",
            where=version or None,
            hint="build the index again with this model, or load the model it was built with",
        )

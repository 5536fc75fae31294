"""The build plan: of which documents each part of an index is made, whatever is done to the index.

An index is built, narrowed to a shorter history, given another encoder's vectors, grown, or rid of papers. These
operations differ in where each part comes from: the papers' BM25 fields and the tables of their authors and venues, the
contexts with the anchor texts, and the vectors of each encoder.

| operation | papers, names | contexts, anchor texts | vectors |
| --- | --- | --- | --- |
| :meth:`BuildPlan.new` | build | build | build, or reuse those of another version |
| :meth:`BuildPlan.with_history` | reuse | select | reuse |
| :meth:`BuildPlan.with_vectors` | reuse | reuse | build one encoder's, reuse the others' |
| :meth:`BuildPlan.with_encoders` | reuse | reuse | build those of other encoders, reuse those of the same |
| :meth:`BuildPlan.with_papers` | extend | extend | extend |
| :meth:`BuildPlan.without_papers` | reuse | drop | reuse |

A plan is executed in memory by :meth:`BuildPlan.make`, and into the folder of a version, one part at a time, by
:mod:`cocite.retrieval.index.version_writer`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import Encoder
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.anchor_texts import (
    AnchorChange,
    AnchorTexts,
    cited_at,
    cited_by_context,
)
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_changes import without_documents
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.index.documents import (
    Advance,
    context_texts,
    encode,
    ignore_progress,
    with_progress,
)
from cocite.retrieval.index.name_tables import NameTables
from cocite.retrieval.index.paper_indexes import PaperIndexes
from cocite.retrieval.index.parts import IndexParts
from cocite.text.gaps import around_gap


class Source(StrEnum):
    """Where the documents of a part come from.

    Example:
        >>> [source.value for source in Source]
        ['build', 'reuse', 'select', 'drop', 'extend']
    """

    BUILD = "build"
    """The corpus: all documents are read, and their statistics are exact."""
    REUSE = "reuse"
    """The base index: its part serves unchanged."""
    SELECT = "select"
    """The base index: some of its part's documents, with exact statistics of their own; no text is read again."""
    DROP = "drop"
    """The base index: some of its part's documents, under the base's statistics; what remains keeps its scores."""
    EXTEND = "extend"
    """The base index and the corpus: new documents stand behind those of the base's part, whose statistics stay."""


@dataclass(frozen=True)
class VectorSource:
    """Where the vectors of one encoder come from.

    Attributes:
        source: build, reuse or extend.
        encoder: makes the new vectors; None where none are made.
        kind: how built vectors are searched: ``auto`` or one of :data:`cocite.retrieval.engines.vectors.KINDS`.
        folder: of equal vectors that another version holds; None where those of the base are reused.

    Example:
        >>> VectorSource(Source.REUSE).encoder is None
        True
    """

    source: Source
    encoder: Encoder | None = None
    kind: str = "auto"
    folder: Path | None = None


@dataclass(frozen=True)
class BuildPlan:
    """What an index is made of: the value that every way of making one executes.

    Attributes:
        corpus: the papers of the new index.
        history: what it knows.
        alive: (N,) False for removed papers.
        papers: where the documents of the papers' BM25 fields come from, and the tables of authors and venues.
        contexts: where those of the contexts and the anchor texts come from.
        vectors: where the vectors of each encoder come from, by its name.
        encoder_ids: the id of each encoder.
        base: the index that parts are taken from; None for a new one.
        bm25: k1 and b of fields that are built.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> parts = BuildPlan.new(corpus, History.all(corpus)).make()
        >>> plan = BuildPlan.with_history(parts, History.until(corpus, 2005))
        >>> plan.papers.value, plan.contexts.value
        ('reuse', 'select')
        >>> earlier = plan.make()
        >>> earlier.papers["text"] is parts.papers["text"], int(earlier.history.cites.degrees.sum())
        (True, 127)
    """

    corpus: Corpus
    history: History
    alive: NDArray[np.bool_]
    papers: Source
    contexts: Source
    vectors: Mapping[str, VectorSource] = field(default_factory=dict)
    encoder_ids: Mapping[str, str] = field(default_factory=dict)
    base: IndexParts | None = None
    bm25: Bm25Fields = field(default_factory=Bm25Fields)

    # -- planning -------------------------------------------------------------------------------------------

    @classmethod
    def new(
        cls,
        corpus: Corpus,
        history: History,
        encoders: Sequence[Encoder] = (),
        *,
        bm25: Bm25Fields | None = None,
        vector_kind: str = "auto",
        stored_vectors: Mapping[str, Path] | None = None,
    ) -> BuildPlan:
        """Index a corpus from its texts.

        Args:
            corpus: the papers.
            history: what is known.
            encoders: each makes its vectors.
            bm25: k1 and b of the papers' fields.
            vector_kind: how the vectors are searched.
            stored_vectors: folders of vectors that need not be made again, by the encoder's name.
        """
        stored = stored_vectors or {}
        vectors = {
            encoder.name: VectorSource(Source.REUSE, folder=stored[encoder.name])
            if encoder.name in stored
            else VectorSource(Source.BUILD, encoder, vector_kind)
            for encoder in encoders
        }
        return cls(
            corpus=corpus,
            history=history,
            alive=np.ones(len(corpus), bool),
            papers=Source.BUILD,
            contexts=Source.BUILD,
            vectors=vectors,
            encoder_ids={encoder.name: encoder.id for encoder in encoders},
            bm25=bm25 or Bm25Fields(),
        )

    @classmethod
    def with_history(cls, base: IndexParts, history: History) -> BuildPlan:
        """The same papers under a history that is a part of the base's.

        Args:
            base: an index of the same corpus.
            history: what is known.

        Raises:
            ValueError: the history holds papers whose contexts the base does not know.
        """
        if (history.citing & ~base.history.citing).any():
            raise ValueError("the history holds papers that this index does not know the contexts of")
        return cls(
            corpus=base.corpus,
            history=history,
            alive=base.alive,
            papers=Source.REUSE,
            contexts=Source.SELECT,
            vectors={name: VectorSource(Source.REUSE) for name in base.vectors},
            encoder_ids=base.encoder_ids,
            base=base,
        )

    @classmethod
    def with_vectors(cls, base: IndexParts, encoder: Encoder, kind: str = "auto") -> BuildPlan:
        """The same index with one more encoder's vectors, which replace those of another encoder of its name."""
        reused = {name: VectorSource(Source.REUSE) for name in base.vectors}
        return cls(
            corpus=base.corpus,
            history=base.history,
            alive=base.alive,
            papers=Source.REUSE,
            contexts=Source.REUSE,
            vectors={**reused, encoder.name: VectorSource(Source.BUILD, encoder, kind)},
            encoder_ids={**base.encoder_ids, encoder.name: encoder.id},
            base=base,
        )

    @classmethod
    def with_encoders(
        cls, base: IndexParts, encoders: Sequence[Encoder], kinds: Mapping[str, str]
    ) -> BuildPlan:
        """The same index with the vectors of some encoders, and of no others.

        Args:
            base: an index, whose vectors of the same encoders are not made again.
            encoders: each makes its vectors.
            kinds: how built vectors are searched, by the encoder's name; ``auto`` where none is named.
        """
        vectors = {
            encoder.name: VectorSource(Source.REUSE)
            if base.encoder_ids.get(encoder.name) == encoder.id
            else VectorSource(Source.BUILD, encoder, kinds.get(encoder.name, "auto"))
            for encoder in encoders
        }
        plan = cls.with_history(base, base.history)
        ids = {encoder.name: encoder.id for encoder in encoders}
        return replace(plan, contexts=Source.REUSE, vectors=vectors, encoder_ids=ids)

    @classmethod
    def with_papers(
        cls, base: IndexParts, corpus: Corpus, history: History, encoders: Mapping[str, Encoder]
    ) -> BuildPlan:
        """A corpus that is the base's with more papers behind.

        Args:
            base: an index of the first papers.
            corpus: all papers.
            history: what is known; of the first papers, what the base knows.
            encoders: those that made the base's vectors, by name.
        """
        return cls(
            corpus=corpus,
            history=history,
            alive=np.concatenate([base.alive, np.ones(len(corpus) - len(base.corpus), bool)]),
            papers=Source.EXTEND,
            contexts=Source.EXTEND,
            vectors={name: VectorSource(Source.EXTEND, encoder) for name, encoder in encoders.items()},
            encoder_ids=base.encoder_ids,
            base=base,
        )

    @classmethod
    def without_papers(cls, base: IndexParts, rows: NDArray[Any]) -> BuildPlan:
        """The same rows, of which some are no longer found, do not vote and are no evidence; statistics stay.

        Args:
            base: an index of the same corpus.
            rows: the papers to remove.
        """
        fewer = base.without(rows)
        plan = cls.with_history(base, fewer.history)
        return replace(plan, alive=fewer.alive, contexts=Source.DROP)

    # -- executing ------------------------------------------------------------------------------------------

    def make(self, advance: Advance = ignore_progress) -> IndexParts:
        """Execute the plan in memory; ``advance`` receives the number of texts and vectors made."""
        papers = self.make_papers(advance)
        contexts = self.make_contexts(advance)
        return IndexParts(
            corpus=self.corpus,
            history=self.history,
            alive=self.alive,
            papers=papers,
            contexts=contexts,
            anchors=self.make_anchors(contexts),
            vectors={name: self.make_vectors(name, advance) for name in self.vectors},
            encoder_ids=self.encoder_ids,
            names=self.make_names(),
        )

    def make_papers(self, advance: Advance) -> Mapping[str, Bm25Index]:
        """BM25 over the papers' fields."""
        if self.base is None:
            return PaperIndexes.build(self.corpus, self.bm25, advance)
        if self.papers is Source.EXTEND:
            if not isinstance(self.base.papers, PaperIndexes):
                raise ValueError("an index of some fields alone cannot be extended")
            return self.base.papers.append(self.corpus, advance)
        return self.base.papers

    def make_names(self) -> NameTables:
        """The papers of each author, surname and venue; in memory they are made when they are first asked for."""
        present = None if self.base is None else self.base.names
        return (
            present
            if present is not None and self.papers is Source.REUSE
            else NameTables(self.corpus, present)
        )

    def make_contexts(self, advance: Advance) -> Bm25Index:
        """BM25 over the known contexts."""
        texts = with_progress(context_texts(self.corpus, self._new_contexts), advance)
        return self._make_bm25(texts, None if self.base is None else self.base.contexts)

    def make_anchors(self, contexts: Bm25Index) -> AnchorTexts:
        """The anchor texts, from the contexts' index that :meth:`make_contexts` gave, whose vocabulary they share."""
        if self.contexts is Source.REUSE:
            return self._base.anchors
        if self.contexts is Source.DROP:
            return self._drop_anchors()
        texts = context_texts(self.corpus, self._new_contexts, around_gap)
        if self.contexts is Source.SELECT:
            windows = self._make_bm25(texts, self._base.anchors.windows)
        else:
            # Every word of a window stands in its context, so that none is new.
            numbers, indptr = contexts.tokenizer.learn(texts, contexts.vocabulary)
            counts = matrices.counted(numbers, indptr, columns=len(contexts.vocabulary))
            if self.contexts is Source.EXTEND:
                return self._extend_anchors(contexts, counts)
            windows = Bm25Index.of_counts(
                contexts.tokenizer, contexts.vocabulary, counts, contexts.k1, contexts.b
            )
        return AnchorTexts.of(contexts, windows, cited_by_context(self.history), len(self.corpus))

    def _extend_anchors(self, contexts: Bm25Index, windows: sp.csr_matrix) -> AnchorTexts:
        """The base's anchor texts with what the new contexts say; ``windows`` are the words next to their gaps."""
        base, known = self._base, len(self._base.contexts)
        cited = cited_at(self.corpus, self._new_contexts)
        new = contexts.counts.rows(np.arange(known, len(contexts)))
        change = AnchorChange.of(new, windows, cited)
        of_all = base.anchors.windows.append_counts(contexts.vocabulary, windows)
        return base.anchors.changed(of_all, change, len(self.corpus), contexts.vocabulary)

    def _drop_anchors(self) -> AnchorTexts:
        """The base's anchor texts without what the dropped contexts say."""
        base, kept = self._base, self._kept_contexts
        dropped = np.flatnonzero(~kept)
        windows = base.anchors.windows
        cited = cited_at(self.corpus, base.history.contexts[dropped])
        contexts = base.contexts.counts.rows(dropped)
        change = AnchorChange.of(contexts, windows.counts.rows(dropped), cited, times=-1)
        return base.anchors.changed(without_documents(windows, kept), change, len(self.corpus))

    def make_vectors(self, name: str, advance: Advance) -> VectorIndex:
        """The vectors of one encoder."""
        source = self.vectors[name]
        if source.encoder is None:
            return self._base.vectors[name] if source.folder is None else VectorIndex.load(source.folder)
        if source.source is Source.EXTEND:
            start = len(self._base.corpus)
            new = encode(self.corpus, source.encoder, start=start, advance=advance)
            return self._base.vectors[name].append(new)
        return VectorIndex.build(encode(self.corpus, source.encoder, advance=advance), source.kind)

    def _make_bm25(self, texts: Iterator[str], present: Bm25Index | None) -> Bm25Index:
        """A BM25 index of contexts: from the base's ``present`` one, from the corpus' new ``texts``, or from both."""
        if present is None or self.contexts is Source.BUILD:
            return Bm25Index.build(texts)
        if self.contexts is Source.EXTEND:
            return present.append(texts)
        if self.contexts is Source.SELECT:
            return present.select(np.searchsorted(self._base.history.contexts, self.history.contexts))
        if self.contexts is Source.DROP:
            return without_documents(present, self._kept_contexts)
        return present

    @property
    def _base(self) -> IndexParts:
        if self.base is None:
            raise ValueError("a plan of a new index has no base to take parts from")
        return self.base

    @property
    def _kept_contexts(self) -> NDArray[np.bool_]:
        """(C,) the contexts of the base that the new index knows."""
        return self.history.citing[self._base.context_papers]

    @property
    def _new_contexts(self) -> NDArray[np.int64]:
        """Positions of the known contexts whose texts are read.

        Contexts are in order of their paper and old papers get no new ones: the new ones stand behind the old.
        """
        known = self.history.contexts
        return known[len(self._base.contexts) :] if self.contexts is Source.EXTEND else known

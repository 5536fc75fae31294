"""An index: all that the first stage searches, made of one corpus and one history.

It lives in memory (:meth:`Index.build`, for training and evaluation) or in a snapshot folder
(:mod:`cocite.retrieval.index.snapshot`); whoever searches it cannot tell which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import NO_ROW, Encoder, Query, Ranking, require_finite
from cocite.retrieval.engines.anchor_texts import AnchorTexts, ballots_of
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.text.gaps import around_gap, strip_marks

FIELDS = ("text", "title", "abstract")
"""Fields of a paper with a BM25 index of their own; ``text`` is title and abstract."""

ENCODE = 4096
"""Papers encoded at a time."""

Advance = Callable[[int], None]
"""Told how many texts were done since the last call."""


@dataclass(frozen=True)
class Index:
    """What the first stage searches.

    Attributes:
        corpus: the papers.
        history: whose links and contexts are known; removed papers are not among them.
        alive: (N,) False for removed papers, which are never found.
        papers: a BM25 index of each of :data:`FIELDS`, a document a paper.
        contexts: BM25 over ``history.contexts``, in that order, citation marks taken out.
        vectors: (N, d) unit vectors by the name of the encoder that made them; of any number of encoders.
        encoder_ids: the id of each of those encoders.
        version: name of the snapshot; empty in memory.
        anchors: BM25 over what contexts say of each paper; of nothing where nothing but the papers' words counts.
    """

    corpus: Corpus
    history: History
    alive: NDArray[np.bool_]
    papers: Mapping[str, Bm25Index]
    contexts: Bm25Index
    vectors: Mapping[str, VectorIndex] = field(default_factory=dict)
    encoder_ids: Mapping[str, str] = field(default_factory=dict)
    version: str = field(default="")
    anchors: AnchorTexts = field(default_factory=AnchorTexts, repr=False)

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        history: History,
        *,
        encoders: Sequence[Encoder] = (),
        bm25: Bm25Fields | None = None,
        vector_kind: str = "auto",
        advance: Advance | None = None,
    ) -> Index:
        """Index a corpus in memory; ``advance`` is told of every paper, context and vector done."""
        step = advance or (lambda _: None)
        papers = {name: index_field(corpus, name, bm25, step) for name in FIELDS}
        contexts = Bm25Index.build(told(context_texts(corpus, history.contexts), step))
        windows = Bm25Index.build(context_texts(corpus, history.contexts, around_gap))
        anchors = AnchorTexts.of(contexts, windows, ballots_of(history), len(corpus))
        index = cls(
            corpus=corpus,
            history=history,
            alive=np.ones(len(corpus), bool),
            papers=papers,
            contexts=contexts,
            anchors=anchors,
        )
        for encoder in encoders:
            index = index.with_vectors(encoder, vector_kind, advance=step)
        return index

    def rewind(self, year: int) -> Index:
        """The index as it would be if nothing later than ``year`` had been cited: same papers, shorter history.

        The contexts' statistics are those of the remaining ones alone, so that no later sentence leaves a trace.
        """
        known = History(self.corpus, self.history.citing & History.until(self.corpus, year).citing)
        return self.with_history(known)

    def with_history(self, history: History) -> Index:
        """The same papers under a history that is a part of the present one."""
        if (history.citing & ~self.history.citing).any():
            raise ValueError("the history holds papers that this index does not know the contexts of")
        kept = np.searchsorted(self.history.contexts, history.contexts)
        contexts, windows = self.contexts.select(kept), self.anchors.windows.select(kept)
        anchors = AnchorTexts.of(contexts, windows, ballots_of(history), len(self))
        return replace(self, history=history, contexts=contexts, anchors=anchors)

    def with_vectors(self, encoder: Encoder, kind: str = "auto", *, advance: Advance | None = None) -> Index:
        """The same index with the vectors of one more encoder; those of another one of its name give way."""
        vectors = VectorIndex.build(encode(self.corpus, encoder, advance=advance), kind)
        return replace(
            self,
            vectors={**self.vectors, encoder.name: vectors},
            encoder_ids={**self.encoder_ids, encoder.name: encoder.id},
        )

    def __len__(self) -> int:
        return len(self.corpus)

    @property
    def bm25(self) -> Bm25Fields:
        """k1 and b of the papers' fields."""
        return Bm25Fields.of(self.papers)

    @cached_property
    def ballots(self) -> CSR:
        """For each document of ``contexts``, the papers that context cites."""
        return ballots_of(self.history)

    @cached_property
    def context_papers(self) -> NDArray[np.int32]:
        """For each document of ``contexts``, the citing row; ascending."""
        return self.corpus.context_citing[self.history.contexts]

    def check_encoder(self, encoder: Encoder) -> VectorIndex:
        """The vectors of the encoder's name, if this very encoder made them; raises otherwise."""
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
        """Set to ``-inf``, in place, what no query may find: removed papers, its own, excluded and too late ones.

        Args:
            scores: dense (Q, N).
            queries: the Q queries.
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


def index_field(corpus: Corpus, name: str, bm25: Bm25Fields | None, advance: Advance) -> Bm25Index:
    """BM25 over one of :data:`FIELDS`, with the field's k1 and b; the usual ones where none are given."""
    settings = getattr(bm25 or Bm25Fields(), name)
    return Bm25Index.build(told(paper_texts(corpus, name), advance), k1=settings.k1, b=settings.b)


def paper_texts(corpus: Corpus, name: str, start: int = 0) -> Iterator[str]:
    """The text of one of :data:`FIELDS` of every paper from row ``start``, in order."""
    if name == "text":
        titles, abstracts = paper_texts(corpus, "title", start), paper_texts(corpus, "abstract", start)
        return (f"{title} {abstract}" for title, abstract in zip(titles, abstracts, strict=True))
    column = corpus.papers.table.column(name).slice(start)
    return (text or "" for chunk in column.chunks for text in chunk.to_pylist())


def context_texts(
    corpus: Corpus, positions: NDArray[np.int64], form: Callable[[str], str] = strip_marks
) -> Iterator[str]:
    """Some contexts in order; ``form`` makes of each what is indexed, by default all of it but citation marks."""
    chosen = np.zeros(len(corpus.contexts), bool)
    chosen[positions] = True
    texts = chain.from_iterable(corpus.contexts.batches("text"))
    return (form(text) for text, wanted in zip(texts, chosen, strict=True) if wanted)


def encode(
    corpus: Corpus, encoder: Encoder, *, start: int = 0, advance: Advance | None = None
) -> NDArray[np.float32]:
    """(n, d) vectors of every paper from row ``start``."""
    result = np.empty((len(corpus) - start, encoder.dimension), np.float32)
    for first in range(start, len(corpus), ENCODE):
        rows = np.arange(first, min(first + ENCODE, len(corpus)), dtype=np.int32)
        vectors = encoder.encode_papers(corpus, rows)
        require_finite(vectors, encoder.name, "vectors of papers")
        result[rows - start] = vectors
        if advance:
            advance(len(rows))
    return result


def told(texts: Iterator[str], advance: Advance, every: int = 1000) -> Iterator[str]:
    """The same texts; ``advance`` hears of them ``every`` texts, and of the rest at the end."""
    count = 0
    for text in texts:
        yield text
        count += 1
        if count == every:
            advance(count)
            count = 0
    advance(count)


def found(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Set to ``-inf``, in place, what has no positive score: nothing speaks for it, so no rank is due to it."""
    scores[scores <= 0] = -np.inf
    return scores


def search_dense(
    queries: Sequence[Query], k: int, papers: int, scores: Callable[[Sequence[Query]], NDArray[np.float32]]
) -> Ranking:
    """Rank by dense scores, in blocks of queries that keep the scores within 64 MB.

    Args:
        queries: what is asked for.
        k: how many papers each.
        papers: N.
        scores: gives (q, N) scores of a block, ``-inf`` where a paper is forbidden.
    """
    step = int(np.clip(16_000_000 // max(papers, 1), 1, 256))
    parts = [Ranking.best(scores(queries[i : i + step]), k) for i in range(0, len(queries), step)]
    if not parts:
        return Ranking(np.empty((0, min(k, papers)), np.int32), np.empty((0, min(k, papers)), np.float32))
    return Ranking(np.concatenate([p.rows for p in parts]), np.concatenate([p.scores for p in parts]))

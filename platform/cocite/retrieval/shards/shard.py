"""One shard: the words and vectors of a range of papers and of their contexts, searched and scored."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import distinct
from cocite.protocols import NO_ROW
from cocite.retrieval.engines.anchor_texts import AnchorTexts
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.document_words import DocumentWords
from cocite.retrieval.engines.inverted_lists import Best
from cocite.retrieval.engines.query_words import Omission, QueryWords
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.shards.messages import (
    NearestReply,
    NearestRequest,
    ScoreReply,
    ScoreRequest,
    SearchRequest,
    TextField,
    TextQuery,
)
from cocite.retrieval.shards.paper_filter import PaperFilter

YEAR_MASKS = 8
"""Limits by year whose papers a shard remembers, a byte a paper each."""


@dataclass(frozen=True)
class IndexShard:
    """The searchable parts of the papers ``first : first + n`` and of the known contexts in them.

    Attributes:
        first: row of the first paper.
        first_context: the first context's position among all known ones.
        papers: BM25 over ``text`` and ``title``, a document a paper.
        contexts: BM25 over the contexts.
        anchors: over the windows of these contexts, and over what the contexts of all shards say of these papers.
        vectors: of the papers, by the encoder's name.
        years: (n,) of the papers, 0 where unknown.
        alive: (n,) the papers that are not removed; None where none is.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> [shard] = index.shards.shards  # an index in memory is one shard
        >>> len(shard), shard.fields["near anchors"] is shard.anchors.near
        (423, True)
    """

    first: int
    first_context: int
    papers: Mapping[str, Bm25Index]
    contexts: Bm25Index
    anchors: AnchorTexts
    vectors: Mapping[str, VectorIndex]
    years: NDArray[Any]
    alive: NDArray[np.bool_] | None
    _by_year: dict[tuple[int | None, ...], NDArray[np.bool_]] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.years)

    @cached_property
    def fields(self) -> Mapping[str, Bm25Index]:
        """The BM25 index of each field of the papers."""
        return {
            "text": self.papers["text"],
            "title": self.papers["title"],
            "anchors": self.anchors.whole,
            "near anchors": self.anchors.near,
        }

    def local(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Positions in this shard of those rows that lie in it."""
        rows = np.asarray(rows, np.int64) - self.first
        return rows[(rows >= 0) & (rows < len(self))]

    def paper_vectors(self, name: str, rows: NDArray[Any]) -> NDArray[np.float32]:
        """(k, d) an encoder's vectors of some of the shard's papers, given by their rows in the whole index."""
        return self.vectors[name].vectors(np.asarray(rows, np.int64) - self.first)

    def warm_up(self) -> None:
        """Load the compiled loops, which the first search of a process would otherwise wait for."""
        word = QueryWords(np.zeros(1, np.int64), np.ones((1, 1), np.float32))
        _search_exactly(self.papers["text"], word, 1, 1, forbidden=np.zeros(0, np.int64))

    # -- one signal ------------------------------------------------------------------------------------------

    def search(self, request: SearchRequest) -> list[Best]:
        """The shard's best papers by one field or one encoder, among those that each query may retrieve."""
        masks = [self._allowed(paper_filter) for paper_filter in request.filters]
        width = min(request.width, len(self))
        found = []
        for i, mask in enumerate(masks):
            if request.words is not None:
                index = self.fields[request.field]
                words = request.words[i].below(index.counts.shape[1])
                best = index.best(words, 0, width, budget=request.postings, allowed=mask)
            else:
                assert request.vectors is not None
                ranking = self.vectors[request.field].search(request.vectors[i : i + 1], width, mask)
                kept = ranking.rows[0] != NO_ROW
                best = Best(ranking.rows[0][kept], ranking.scores[0][kept])
            found.append(Best(best.rows + np.int32(self.first), best.scores))
        return found

    # -- the first round -------------------------------------------------------------------------------------

    def nearest(self, request: NearestRequest) -> NearestReply:
        """The shard's papers and contexts nearest to some queries."""
        windows = request.window_form
        queries = range(len(request))
        return NearestReply(
            [self._nearest_papers(request, i) for i in queries],
            [self._nearest_contexts(self.contexts, request, i, request.sentence_form) for i in queries],
            []
            if windows is None
            else [self._nearest_contexts(self.anchors.windows, request, i, windows) for i in queries],
            [self._own_words(request, i) for i in queries],
        )

    def _nearest_papers(self, request: NearestRequest, i: int) -> Best:
        best = _search_exactly(
            self.papers["text"],
            request.neighbours[i],
            request.papers,
            request.postings,
            forbidden=self.local(request.own_papers[i : i + 1]),
            allowed=self.alive,
        )
        return Best(best.rows + np.int32(self.first), best.scores)

    def _nearest_contexts(self, index: Bm25Index, request: NearestRequest, i: int, form: int) -> Best:
        own = np.clip(request.own_contexts[i] - self.first_context, 0, len(index))
        asked = request.words[i].contexts.only([form])
        best = _search_exactly(
            index, asked, request.contexts, request.postings, forbidden=np.arange(own[0], own[1])
        )
        return Best(best.rows + np.int32(self.first_context), best.scores)

    def _own_words(self, request: NearestRequest, i: int) -> tuple[DocumentWords, DocumentWords] | None:
        """The query's words in the contexts of its own paper, if that lies here; nothing lies on two shards."""
        first, last = (request.own_contexts[i] - self.first_context).tolist()
        if not 0 <= first < last <= len(self.contexts):
            return None
        asked = request.words[i].contexts
        contexts, windows = (
            DocumentWords.of(index, asked, first, last) for index in (self.contexts, self.anchors.windows)
        )
        return contexts, windows

    # -- the second round ------------------------------------------------------------------------------------

    def score(self, request: ScoreRequest) -> ScoreReply:
        """The shard's candidates of some queries with their scores by text and their similarities."""
        rows = self._candidates(request)
        return ScoreReply(
            [of_query + np.int32(self.first) for of_query in rows],
            [self._score_texts(request, i, of_query) for i, of_query in enumerate(rows)],
            [self._similarities(request, i, of_query) for i, of_query in enumerate(rows)],
        )

    def _candidates(self, request: ScoreRequest) -> list[NDArray[np.int32]]:
        """The positions of each query's candidates: those it was asked for, and the best of each search.

        Papers that a query may not retrieve are among them: a signal is scaled by its best paper of all, so that a
        limit changes no other paper's score.
        """
        masks = [self._allowed(paper_filter) for paper_filter in request.filters]
        vectors = self._search_vectors(request, masks)
        result = []
        for i, mask in enumerate(masks):
            parts: list[NDArray[Any]] = [self.local(request.candidates(i)), *vectors[i]]
            for field in request.searches:
                parts += self._search_field(request, i, field, mask)
            if request.nearest_by is not None and _few(self.local(request.nearest[i]), mask):
                parts.append(self._search(request, i, request.nearest_by, mask))
            result.append(distinct(np.concatenate(parts).astype(np.int64)).astype(np.int32))
        return result

    def _allowed(self, paper_filter: PaperFilter) -> NDArray[np.bool_] | None:
        """(n,) the papers that a query may retrieve; None: all.

        Few limits by year are common to all queries, so what they allow is computed once; a query's own lists of papers
        cost a copy of it.
        """
        if paper_filter.is_open:
            return self.alive
        by_year = self._by_year.get(paper_filter.years)
        if by_year is None:
            by_year = paper_filter.by_year(self.years)
            by_year = by_year if self.alive is None else by_year & self.alive
            # Another thread may do the same: each step leaves a whole dictionary.
            for forgotten in list(self._by_year)[: max(0, len(self._by_year) - YEAR_MASKS + 1)]:
                self._by_year.pop(forgotten, None)
            self._by_year[paper_filter.years] = by_year
        return paper_filter.allowed_among(by_year, self.first)

    def _search_field(
        self, request: ScoreRequest, i: int, field: TextField, mask: NDArray[np.bool_] | None
    ) -> list[NDArray[np.int32]]:
        """The papers that match one form of a query best, and if few of them are allowed, the best of those."""
        best = self._search(request, i, field, None)
        return [best, self._search(request, i, field, mask)] if _few(best, mask) else [best]

    def _search(
        self, request: ScoreRequest, i: int, field: TextField, mask: NDArray[np.bool_] | None
    ) -> NDArray[np.int32]:
        index = self.fields[field.field]
        words = _words(request.words[i], field).below(index.counts.shape[1])
        width = min(request.width, len(self))
        return index.best(words, field.form, width, budget=request.postings, allowed=mask).rows

    def _search_vectors(
        self, request: ScoreRequest, masks: Sequence[NDArray[np.bool_] | None]
    ) -> list[list[NDArray[np.int32]]]:
        """For each query the papers nearest to its vectors, and if few are allowed, the nearest of those."""
        result: list[list[NDArray[np.int32]]] = [[] for _ in masks]
        for name, vectors in request.vectors.items():
            index = self.vectors[request.encoders[name]]
            for i, rows in enumerate(index.search(vectors, request.width).rows):
                result[i].append(rows[rows != NO_ROW])
                if _few(rows, masks[i]):
                    rows = index.search(vectors[i : i + 1], request.width, masks[i]).rows[0]
                    result[i].append(rows[rows != NO_ROW])
        return result

    def _score_texts(self, request: ScoreRequest, i: int, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(T, n) the scores of some papers by each field of the request; all forms of a field at once."""
        result = np.zeros((len(request.fields), len(rows)), np.float32)
        for name in dict.fromkeys(field.field for field in request.fields):
            slots = [slot for slot, field in enumerate(request.fields) if field.field == name]
            fields = [request.fields[slot] for slot in slots]
            asked = _words(request.words[i], fields[0]).below(self.fields[name].counts.shape[1])
            forms = [field.form for field in fields]
            scores = self.fields[name].scores_at(asked.only(forms), rows)
            own = request.own[i]
            if own is not None and not fields[0].of_papers:
                self._leave_out(scores, name, asked, forms, rows, own.papers, own.words[name])
            result[slots] = scores
        return result

    def _leave_out(
        self,
        scores: NDArray[np.float32],
        name: str,
        asked: QueryWords,
        forms: list[int],
        rows: NDArray[np.int32],
        papers: NDArray[np.int32],
        words: Omission,
    ) -> None:
        """Score the papers that a query's own contexts cite once more, without the words of these contexts."""
        at = np.searchsorted(rows, self.local(papers))
        here = np.flatnonzero((papers >= self.first) & (papers < self.first + len(self)))
        known = asked.only(forms)
        columns = np.searchsorted(asked.words, known.words)
        without = Omission(
            np.ascontiguousarray(words.less[here][:, columns]), np.ascontiguousarray(words.shorter[here])
        )
        local = papers[here] - np.int32(self.first)
        corrected = self.fields[name].scores_at(known, local, without)
        present = (at < len(rows)) & (rows[np.minimum(at, len(rows) - 1)] == local) if len(rows) else at < 0
        scores[:, at[present]] = corrected[:, present]

    def _similarities(self, request: ScoreRequest, i: int, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(E, n) inner products of a query's vectors with those of some papers."""
        result = np.zeros((len(request.vectors), len(rows)), np.float32)
        for slot, (name, vectors) in enumerate(request.vectors.items()):
            index = self.vectors[request.encoders[name]]
            result[slot] = index.similarities(vectors[i : i + 1], rows[None])[0]
        return result


def _words(words: TextQuery, field: TextField) -> QueryWords:
    return words.papers if field.of_papers else words.contexts


def _few(found: NDArray[Any], mask: NDArray[np.bool_] | None) -> bool:
    """Whether less than half of the papers found are allowed."""
    found = found[found != NO_ROW]
    return mask is not None and 2 * int(mask[found].sum()) < len(found)


def _search_exactly(
    index: Bm25Index,
    asked: QueryWords,
    width: int,
    budget: int,
    *,
    forbidden: NDArray[Any],
    allowed: NDArray[np.bool_] | None = None,
) -> Best:
    """The documents that a search within a budget finds for one text, by their exact scores."""
    asked = asked.below(index.counts.shape[1])
    width = min(width, len(index))
    rows = index.best(asked, 0, width, budget=budget, forbidden=forbidden, allowed=allowed).rows
    rows = np.sort(rows)  # equal scores in order of the document
    scores = index.scores_at(asked, rows)[0]
    order = np.argsort(-scores, kind="stable")
    return Best(rows[order], scores[order])

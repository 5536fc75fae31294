"""Signals of every paper: the reference, and the quicker way for small corpora and for batches of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.query_signals import (
    NEIGHBOURS,
    SENTENCE_VOTERS,
    WINDOW_VOTERS,
    Matrix,
    QuerySignals,
    scaled,
)
from cocite.pipeline.seeds import add_seeds
from cocite.pipeline.signals import Signals
from cocite.protocols import Query, Ranking, require_finite
from cocite.retrieval.index.index import Index
from cocite.retrieval.shards.paper_filter import EVERYTHING, PaperFilter
from cocite.retrieval.signals.anchors import Anchors
from cocite.retrieval.signals.sparse_scores import SparseScores
from cocite.retrieval.signals.votes import relative
from cocite.retrieval.vector_retriever import VectorRetriever


class DenseSignals(QuerySignals):
    """The signals of some queries, dense over all papers.

    Attributes:
        dense: (Q, N) each text signal.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> signals = Signals(Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> block = DenseSignals(signals, [Query("q", title="Attention-based machine translation")])
        >>> best = block.over_all("title>title").argmax(axis=1)
        >>> signals.index.corpus.papers.take("title", best)
        ['Effective Approaches to Attention-based Neural Machine Translation']
    """

    def __init__(self, signals: Signals, queries: Sequence[Query]) -> None:
        super().__init__(signals, queries)
        if not isinstance(signals.index, Index):
            raise ValueError("an index of several shards has no dense signals")
        self._whole, self._anchors = signals.index, Anchors(signals.index)
        papers, contexts = self._whole.papers["text"], self._whole.contexts
        self._paper_words = {form: papers.count(texts) for form, texts in self.texts.items()}
        self._context_words = {form: contexts.count(texts) for form, texts in self.texts.items()}
        self.dense = {name: self._match_text(name) for name in self.text_signals}
        self._find_voters()

    def _match_text(self, name: str) -> Matrix:
        signal = self.text_signals[name]
        if signal.field.endswith("anchors"):
            near = signal.field == "near anchors"
            return self._anchors.scores(self._context_words[signal.form], self.own, near=near)
        return self._whole.papers[signal.field].lists.dense(self._paper_words[signal.form])

    def _find_voters(self) -> None:
        # The neighbours of a manuscript are the papers that resemble all its text.
        nearness = self.dense["whole>text"]
        if self.local:
            nearness = nearness + self.dense["context>text"]
        # Excluded papers are not recommended, but may vote.
        own_papers = [Query(query.id, paper=query.paper) for query in self.queries]
        nearness = self._whole.forbid(nearness.copy(), own_papers)
        neighbours = relative(Ranking.best(nearness, NEIGHBOURS[self.local][-1]))
        windows = None
        if self.local:
            near = self._anchors.windows.lists.dense(self._context_words["near"])
            windows = self._nearest_contexts(near, WINDOW_VOTERS)
        contexts = self._whole.contexts.lists.dense(self._context_words["context" if self.local else "whole"])
        sentences = self._nearest_contexts(contexts, SENTENCE_VOTERS)
        self._count_votes(neighbours, sentences, windows)

    def _nearest_contexts(self, scores: Matrix, depth: int) -> Ranking:
        """(Q, depth) the best contexts by scores, which are changed, but those of each query's own paper."""
        for row, first, last in zip(scores, self.own.begin, self.own.end, strict=True):
            row[first:last] = -np.inf
        return relative(Ranking.best(scores, depth))

    def ranking(
        self,
        weights: Mapping[str, float],
        width: int,
        papers: PaperFilter = EVERYTHING,
        seeds: SparseScores | None = None,
    ) -> Ranking:
        """The best papers; see the base class."""
        blend = np.zeros((len(self.queries), self.papers), np.float32)
        for name, weight in weights.items():
            blend += weight * self.over_all(name)
        if seeds is not None:
            self.seed_scale = add_seeds(blend, seeds.dense(), self.queries)
        if not papers.is_open:
            blend[:, ~papers.allowed(self.index.corpus.years)] = -np.inf
        return Ranking.best(self.index.forbid(blend, self.queries), width)

    def over_all(self, name: str) -> Matrix:
        """(Q, N) a signal of every paper, scaled so that each query's best is 1.

        Raises:
            InputError: there is no signal of this name.
            IntegrityError: it is not a finite number for some paper.
        """
        scores = self._over_all(name)
        require_finite(scores.max(axis=1, initial=0), name, "scores")  # the maximum is NaN if any score is
        return scaled(scores)

    def _over_all(self, name: str) -> Matrix:
        self.check(name)
        if name in self.dense:
            return self.dense[name]
        if name in self.signals.counts:
            counts: Matrix = self.signals.counts[name] - self.own_counts(name).dense()
            return np.log1p(counts)
        if name in self.vectors:
            return self._retriever(name).over_all(self.queries, self.vectors[name])
        if name in self.people:
            return self.people[name].dense()
        votes, _, kind = name.partition(":")
        return self.votes[votes].dense(kind or "sum")

    def similarities_at(self, name: str, rows: NDArray[np.int32]) -> Matrix:
        """(Q, k) the similarity of given papers to the queries' vectors."""
        return self._retriever(name).vectors.similarities(self.vectors[name], rows)

    def _retriever(self, name: str) -> VectorRetriever:
        """The retriever that holds the vectors of a signal."""
        retriever = self.signals.encoders[name.partition(":")[0]]
        assert isinstance(retriever, VectorRetriever)  # as the index is searched whole
        return retriever

    def texts_at(self, rows: NDArray[np.int32]) -> dict[str, Matrix]:
        """(Q, k) each text signal of given papers."""
        safe = np.maximum(rows, 0)
        return {name: np.take_along_axis(dense, safe, 1) for name, dense in self.dense.items()}

    def text_best(self, name: str) -> Matrix:
        """(Q, 1) the best score of a text signal among all papers."""
        best: Matrix = self.dense[name].max(axis=1, keepdims=True, initial=0)
        return best

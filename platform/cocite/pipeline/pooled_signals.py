"""Signals of the papers that some signal speaks for: their cost does not follow the size of the corpus.

Two steps (generate, then score). Each family of signals gives its best papers: BM25 from inverted lists read up to a
budget of postings, encoders from the index of their vectors, contexts and neighbours by what they cite, authors by
their papers. The union of a query, the pool, is scored exactly, and each signal is scaled by its best paper of the
pool, which generation has put there.

With unlimited budgets and widths the result is that of :mod:`~cocite.pipeline.dense_signals` (a property test).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import distinct
from cocite.pipeline.query_signals import NEIGHBOURS, WINDOW_VOTERS, Matrix, QuerySignals, scaled
from cocite.pipeline.signals import Signals
from cocite.protocols import NO_ROW, Query, Ranking, require_finite
from cocite.retrieval.engines.bm25 import Bm25Index, QueryWords
from cocite.retrieval.engines.inverted_lists import Best
from cocite.retrieval.signals.votes import relative


@dataclass(frozen=True)
class PoolLimits:
    """How much generation reads and gives.

    Attributes:
        postings: read for one search of an inverted index.
        papers: that each search of papers gives.
        contexts: that each search of contexts gives; the best of them by exact scores vote.
        cited: papers with most votes of one kind, or with most past citations, that enter the pool.

    Example:
        >>> PoolLimits().papers
        500
    """

    postings: int = 50_000
    papers: int = 500
    contexts: int = 500
    cited: int = 500


SEARCHES = {
    True: (("context+title", "text"), ("title", "title"), ("near", "text")),
    False: (("title", "title"),),
}
"""Whether queries are local -> (form, field) that candidates are searched by, beside the neighbours' search."""


class PooledSignals(QuerySignals):
    """The signals of some queries for the papers of their pools.

    Args:
        signals: what they are computed from.
        queries: Q queries, all local or all global.
        limits: of generation.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> signals = Signals(Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> block = PooledSignals(signals, [Query("q", title="Attention-based machine translation")])
        >>> best = block.ranking({"title>title": 1.0}, 1, allowed=None).rows[0]
        >>> signals.index.corpus.papers.take("title", best)
        ['Effective Approaches to Attention-based Neural Machine Translation']
    """

    def __init__(self, signals: Signals, queries: Sequence[Query], limits: PoolLimits = PoolLimits()) -> None:
        super().__init__(signals, queries)
        self.limits = limits
        texts = [
            dict(zip(self.texts, of_query, strict=True))
            for of_query in zip(*self.texts.values(), strict=True)
        ]
        self.forms = tuple(self.texts)
        self._paper_words = [self._words(self.index.papers["text"], forms) for forms in texts]
        self._context_words = [self._words(self.index.contexts, forms) for forms in texts]
        self._nearest = [self._search_neighbours(i) for i in range(len(queries))]
        self._find_voters()
        self._pool_rows: list[NDArray[np.int32]] = []
        self._pool_texts: dict[str, Matrix] = {}
        self._best: dict[str, Matrix] = {}

    def _words(self, index: Bm25Index, forms: Mapping[str, str]) -> QueryWords:
        return index.query_words(list(forms.values()))

    # -- generation ------------------------------------------------------------------------------------------

    def _search_neighbours(self, i: int) -> Best:
        """The papers that resemble all of one query's text; excluded ones and later ones may vote, too."""
        words = self._paper_words[i]
        times = words.times[self.forms.index("whole")]
        if self.local:
            times = times + words.times[self.forms.index("context")]
        own = np.array([self.queries[i].paper])
        return _search_exactly(
            self.index.papers["text"],
            QueryWords(words.words, times[None]),
            max(self.limits.papers, NEIGHBOURS[self.local][-1]),
            self.limits.postings,
            forbidden=own[own != NO_ROW],
            allowed=self.signals.alive,
        )

    def _find_voters(self) -> None:
        depth = NEIGHBOURS[self.local][-1]
        neighbours = _padded([Best(best.rows[:depth], best.scores[:depth]) for best in self._nearest], depth)
        form = "context" if self.local else "whole"
        sentences = self._search_contexts(self.index.contexts, form, self.signals.sentences.sentences)
        windows = None
        if self.local:
            windows = self._search_contexts(self.signals.anchors.windows, "near", WINDOW_VOTERS)
        self._count_votes(relative(neighbours), sentences, windows)

    def _search_contexts(self, contexts: Bm25Index, form: str, depth: int) -> Ranking:
        """(Q, depth) the contexts nearest to one form of each query, but those of its own paper."""
        position = self.forms.index(form)
        found = []
        for i, words in enumerate(self._context_words):
            own = np.arange(self.own.begin[i], self.own.end[i])
            width = max(depth, self.limits.contexts)
            found.append(
                _search_exactly(contexts, words.only([position]), width, self.limits.postings, forbidden=own)
            )
        found = [Best(best.rows[:depth], best.scores[:depth]) for best in found]
        return relative(_padded(found, depth))

    def _pool(
        self, width: int, allowed: Sequence[NDArray[np.bool_] | None], weighed: Collection[str]
    ) -> NDArray[np.int32]:
        """(Q, P) the pool of each query in ascending order, padded: the papers that some signal speaks for.

        Papers that are not allowed are among them: a signal is scaled by its best paper of all, so that a limit
        changes no other paper's score. Of votes and authors those that are ``weighed`` in the blend give candidates.
        """
        weighed = {name.partition(":")[0] for name in weighed}
        width = max(width, self.limits.papers)
        vectors = self._search_vectors(width, allowed)
        voted = [
            votes.ranking(self.limits.cited).rows for name, votes in self.votes.items() if name in weighed
        ]
        people = [matrix for name, matrix in self.people.items() if name in weighed]
        pools = []
        for i, query in enumerate(self.queries):
            parts = [self._nearest[i].rows, self.signals.popular, np.array([query.paper]), *vectors[i]]
            parts += [rows[i] for rows in voted]
            parts += [matrix.best(i, self.limits.cited) for matrix in people]
            for form, field in SEARCHES[self.local]:
                parts += self._search_papers(i, form, field, width, allowed[i])
            if not self.local:  # The neighbours' search is the one by title and abstract.
                parts += self._more_allowed(i, "whole", "text", width, allowed[i], self._nearest[i].rows)
            pool = distinct(np.concatenate(parts))
            pools.append(pool[pool != NO_ROW].astype(np.int32))
        longest = max(map(len, pools))
        return np.stack([np.pad(pool, (0, longest - len(pool)), constant_values=NO_ROW) for pool in pools])

    def _search_papers(
        self, i: int, form: str, field: str, width: int, allowed: NDArray[np.bool_] | None
    ) -> list[NDArray[np.int32]]:
        """The papers that match one form of a query best, and if need be the best of those that are allowed."""
        best = self._search(i, form, field, width)
        return [best, *self._more_allowed(i, form, field, width, allowed, best)]

    def _more_allowed(
        self,
        i: int,
        form: str,
        field: str,
        width: int,
        allowed: NDArray[np.bool_] | None,
        found: NDArray[np.int32],
    ) -> list[NDArray[np.int32]]:
        """The best allowed papers, where less than half of those found are."""
        if allowed is None or 2 * int(allowed[found].sum()) >= len(found):
            return []
        return [self._search(i, form, field, width, allowed)]

    def _search(
        self, i: int, form: str, field: str, width: int, allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int32]:
        asked, position = self._paper_words[i], self.forms.index(form)
        budget = self.limits.postings
        return self.index.papers[field].best(asked, position, width, budget=budget, allowed=allowed).rows

    def _search_vectors(
        self, width: int, allowed: Sequence[NDArray[np.bool_] | None]
    ) -> list[list[NDArray[np.int32]]]:
        """For each query the papers nearest to its vectors, and if need be the nearest of those that are allowed."""
        result: list[list[NDArray[np.int32]]] = [[] for _ in self.queries]
        for name, vectors in self.vectors.items():
            index = self.retriever(name).vectors
            for i, rows in enumerate(index.search(vectors, width).rows):
                result[i].append(rows)
                mask = allowed[i]
                if mask is not None and 2 * int(mask[rows].sum()) < len(rows):
                    result[i].append(index.search(vectors[i : i + 1], width, mask).rows[0])
        return result

    # -- scores ----------------------------------------------------------------------------------------------

    def ranking(self, weights: Mapping[str, float], width: int, allowed: NDArray[np.bool_] | None) -> Ranking:
        """The best papers of the pools; see the base class."""
        masks = [self.signals.allowed(query, allowed) for query in self.queries]
        rows = self._pool(width, masks, weights)
        texts = self._score_texts(rows)
        # The candidates' signals are gathered from here, instead of being computed again.
        self._pool_rows, self._pool_texts = [pool[pool != NO_ROW] for pool in rows], texts
        self._best = {name: values.max(axis=1, keepdims=True) for name, values in texts.items()}
        blend = np.zeros(rows.shape, np.float32)
        for name, weight in weights.items():
            self.check(name)
            values = texts[name] if name in texts else self._candidate_values(name, rows)
            require_finite(values.max(axis=1, initial=0), name, "scores")
            blend += weight * scaled(values)
        for scores, of_query, query, mask in zip(blend, rows, self.queries, masks, strict=True):
            forbidden = (of_query == NO_ROW) | (of_query == query.paper)
            if query.exclude:
                forbidden |= np.isin(of_query, query.exclude)
            if mask is not None:
                forbidden |= ~mask[of_query]
            scores[forbidden] = -np.inf
        best = Ranking.best(blend, width)
        found = np.take_along_axis(rows, np.maximum(best.rows, 0), 1)
        return _widened(Ranking(np.where(best.rows == NO_ROW, NO_ROW, found), best.scores), width)

    def _candidate_values(self, name: str, rows: NDArray[np.int32]) -> Matrix:
        """(Q, P) a signal of the pools' papers, not of texts; similarities are at least 0, and 0 to the own paper."""
        values = np.where(rows == NO_ROW, 0, self.value_at(name, rows))
        if name in self.vectors:
            own = np.array([query.paper for query in self.queries])[:, None]
            values = np.where(rows == own, 0, np.maximum(values, 0))
        return values

    def texts_at(self, rows: NDArray[np.int32]) -> dict[str, Matrix]:
        """(Q, k) each text signal of given papers, exactly."""
        columns = self._columns(rows)
        if columns is None:
            return self._score_texts(rows)
        padding = rows == NO_ROW
        return {
            name: np.where(padding, 0, np.take_along_axis(values, columns, 1))
            for name, values in self._pool_texts.items()
        }

    def _columns(self, rows: NDArray[np.int32]) -> NDArray[np.int64] | None:
        """(Q, k) the columns of given papers in the pools; None where one is in none, or there are no pools yet."""
        columns = np.zeros(rows.shape, np.int64)
        for i, pool in enumerate(self._pool_rows):
            columns[i] = np.minimum(np.searchsorted(pool, rows[i]), len(pool) - 1)
            if ((pool[columns[i]] != rows[i]) & (rows[i] != NO_ROW)).any():
                return None
        return columns if self._pool_rows else None

    def _score_texts(self, rows: NDArray[np.int32]) -> dict[str, Matrix]:
        """(Q, k) each text signal of given papers, from the documents' word counts."""
        result = {name: np.zeros(rows.shape, np.float32) for name in self.text_signals}
        for i in range(len(rows)):
            for field, names in self._names_by_field.items():
                forms = [self.forms.index(self.text_signals[name].form) for name in names]
                for name, scores in zip(names, self._score_field(i, field, forms, rows[i]), strict=True):
                    result[name][i] = scores
        return result

    @cached_property
    def _names_by_field(self) -> dict[str, list[str]]:
        """The text signals of each field."""
        result: dict[str, list[str]] = {}
        for name, signal in self.text_signals.items():
            result.setdefault(signal.field, []).append(name)
        return result

    def _score_field(self, i: int, field: str, forms: list[int], rows: NDArray[np.int32]) -> Matrix:
        """(F, k) the scores of some forms of one query against one field of some papers."""
        if not field.endswith("anchors"):
            return self.index.papers[field].scores_at(self._paper_words[i].only(forms), rows)
        asked, near = self._context_words[i].only(forms), field == "near anchors"
        return self.signals.anchors.scores_at(asked, self.own, i, rows, near=near)

    def text_best(self, name: str) -> Matrix:
        """(Q, 1) the best score of a text signal in the pool of each query, once :meth:`ranking` has made them."""
        return self._best[name]


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
    rows = index.best(asked, 0, width, budget=budget, forbidden=forbidden, allowed=allowed).rows
    rows = np.sort(rows)  # equal scores in order of the document
    scores = index.scores_at(asked, rows)[0]
    order = np.argsort(-scores, kind="stable")
    return Best(rows[order], scores[order])


def _padded(found: Sequence[Best], depth: int) -> Ranking:
    """The best of several queries as a ranking (Q, depth)."""
    rows = np.full((len(found), depth), NO_ROW, np.int32)
    scores = np.full((len(found), depth), -np.inf, np.float32)
    for i, best in enumerate(found):
        rows[i, : len(best.rows)], scores[i, : len(best.rows)] = best
    return Ranking(rows, scores)


def _widened(ranking: Ranking, width: int) -> Ranking:
    """The same ranking with padding up to ``width`` columns."""
    missing = ((0, 0), (0, max(0, width - ranking.depth)))
    return Ranking(
        np.pad(ranking.rows, missing, constant_values=NO_ROW),
        np.pad(ranking.scores, missing, constant_values=-np.inf),
    )

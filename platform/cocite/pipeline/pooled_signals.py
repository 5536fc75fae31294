"""Signals of the papers that some signal speaks for: their cost does not follow the size of the corpus.

Two steps (generate, then score). Each family of signals gives its best papers: BM25 from inverted lists read up to a
budget of postings, encoders from the index of their vectors, contexts and neighbours by what they cite, authors by
their papers. The union of a query, the pool, is scored exactly, and each signal is scaled by its best paper of the
pool, which generation has put there.

The shards of the index do both, in two rounds (:mod:`cocite.retrieval.shards`); in between, the votes of the nearest
papers and contexts of all shards are counted here, and behind them all scores are blended here. With unlimited budgets
and widths the result is that of :mod:`~cocite.pipeline.dense_signals`, and the same to the bit over 1, 2, 4 and 7
shards (property test in ``tests/retrieval/index/test_sharded_index.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

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
from cocite.protocols import NO_ROW, Query, Ranking, require_finite
from cocite.retrieval.engines.inverted_lists import UNLIMITED, Best
from cocite.retrieval.engines.query_words import QueryWords
from cocite.retrieval.shards.messages import (
    NearestReply,
    NearestRequest,
    OwnContexts,
    ScoreReply,
    ScoreRequest,
    TextField,
    TextQuery,
)
from cocite.retrieval.shards.paper_filter import EVERYTHING, PaperFilter
from cocite.retrieval.signals.sparse_scores import SparseScores
from cocite.retrieval.signals.votes import relative

Reply = TypeVar("Reply", NearestReply, ScoreReply)


@dataclass(frozen=True)
class PoolLimits:
    """How much generation reads and gives.

    Attributes:
        postings: read for one search of an inverted index.
        papers: that each search of papers gives.
        contexts: that each search of contexts gives; the best of them by exact scores vote.
        cited: papers with most votes of one kind, or with most past citations, that enter the pool.

    Example:
        >>> PoolLimits().papers, PoolLimits().of_shards(5).papers
        (500, 200)
    """

    postings: int = 50_000
    papers: int = 500
    contexts: int = 500
    cited: int = 500

    def of_shards(self, count: int) -> PoolLimits:
        """The limits of each of some shards: twice its share, because the best papers are not spread evenly."""
        share = min(1.0, 2 / count)
        return replace(
            self,
            postings=int(self.postings * share),
            papers=int(self.papers * share),
            contexts=int(self.contexts * share),
        )


UNLIMITED_POOL = PoolLimits(UNLIMITED, 1 << 30, 1 << 30, 1 << 30)
"""Every paper that a signal speaks for is scored."""

SEARCHES = {
    True: (("title", "title"), ("near", "text")),
    False: (("title", "title"),),
}
"""Whether queries are local -> (form, field) that candidates are searched by, beside the neighbours' search."""


class PooledSignals(QuerySignals):
    """The signals of some queries for the papers of their pools.

    Args:
        signals: what they are computed from.
        queries: Q queries, all local or all global.
        limits: of generation, for each shard.

    Attributes:
        missing: numbers of the shards that did not answer.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> signals = Signals(Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> block = PooledSignals(signals, [Query("q", title="Attention-based machine translation")])
        >>> best = block.ranking({"title>title": 1.0}, 1).rows[0]
        >>> signals.index.corpus.papers.take("title", best)
        ['Effective Approaches to Attention-based Neural Machine Translation']
    """

    def __init__(self, signals: Signals, queries: Sequence[Query], limits: PoolLimits = PoolLimits()) -> None:
        super().__init__(signals, queries)
        self.limits, self.forms = limits, tuple(self.texts)
        self._words = [
            TextQuery(self.index.paper_words(texts), self.index.context_words(texts))
            for texts in zip(*self.texts.values(), strict=True)
        ]
        self.missing: set[int] = set()
        self._find_nearest()
        self._pool_rows: NDArray[np.int32] = np.zeros((len(queries), 0), np.int32)
        self._pool_values: dict[str, Matrix] = {}
        self._best: dict[str, Matrix] = {}

    # -- the first round -------------------------------------------------------------------------------------

    def _find_nearest(self) -> None:
        """Ask every shard for its nearest papers and contexts, merge them, and count their votes."""
        depth = NEIGHBOURS[self.local][-1]
        replies = self._answered(self.index.shards.nearest(self._nearest_request(depth)))
        self._nearest = [
            np.concatenate([np.zeros(0, np.int32), *(reply.papers[i].rows for reply in replies)])
            for i in range(len(self.queries))
        ]
        self._count_votes(
            _merged([reply.papers for reply in replies], len(self.queries), depth),
            _merged([reply.sentences for reply in replies], len(self.queries), SENTENCE_VOTERS),
            _merged([reply.windows for reply in replies], len(self.queries), WINDOW_VOTERS)
            if self.local
            else None,
        )
        self._own_contexts = [self._own_words(i, replies) for i in range(len(self.queries))]

    def _nearest_request(self, depth: int) -> NearestRequest:
        return NearestRequest(
            words=self._words,
            neighbours=[self._neighbour_words(words.papers) for words in self._words],
            sentence_form=self.forms.index("context" if self.local else "whole"),
            window_form=self.forms.index("near") if self.local else None,
            own_papers=np.array([query.paper for query in self.queries], np.int32),
            own_contexts=np.stack([self.own.begin, self.own.end], 1).astype(np.int64),
            papers=max(self.limits.papers, depth),
            contexts=max(self.limits.contexts, SENTENCE_VOTERS, WINDOW_VOTERS),
            postings=self.limits.postings,
        )

    def _neighbour_words(self, words: QueryWords) -> QueryWords:
        """All of a query's text: papers that resemble it are its neighbours."""
        times = words.times[self.forms.index("whole")]
        if self.local:
            times = times + words.times[self.forms.index("context")]
        return QueryWords(words.words, times[None])

    def _own_words(self, i: int, replies: Sequence[NearestReply]) -> OwnContexts | None:
        """What the contexts of a query's own paper add to the anchor texts of what they cite, from their shard."""
        own = next((reply.own[i] for reply in replies if reply.own[i] is not None), None)
        if own is None:
            return None
        cited = self.own.contexts_cited(i)
        papers, whole = own[0].omitted(cited)
        return OwnContexts(papers, {"anchors": whole, "near anchors": own[1].omitted(cited)[1]})

    # -- the second round ------------------------------------------------------------------------------------

    def ranking(
        self,
        weights: Mapping[str, float],
        width: int,
        papers: PaperFilter = EVERYTHING,
        seeds: SparseScores | None = None,
    ) -> Ranking:
        """The best papers of the pools; see the base class."""
        for name in weights:
            self.check(name)
        filters = [papers.until(query.candidates_until) for query in self.queries]
        self._fill_pools(self._score_request(width, filters, weights, seeds))
        rows = self._pool_rows
        blend = np.zeros(rows.shape, np.float32)
        for name, weight in weights.items():
            values = self._pool_values[name] if name in self.text_signals else self._blended_values(name)
            require_finite(values.max(axis=1, initial=0), name, "scores")
            blend += weight * scaled(values)
        if seeds is not None:
            self.seed_scale = add_seeds(blend, seeds.at(rows), self.queries)
        blend[~self._retrievable(filters)] = -np.inf
        best = Ranking.best(blend, width)
        found = np.take_along_axis(rows, np.maximum(best.rows, 0), 1)
        return _widened(Ranking(np.where(best.rows == NO_ROW, NO_ROW, found), best.scores), width)

    def _score_request(
        self,
        width: int,
        filters: Sequence[PaperFilter],
        weighed: Collection[str],
        seeds: SparseScores | None,
    ) -> ScoreRequest:
        """What every shard is asked; of votes and authors those that are ``weighed`` in the blend give candidates."""
        weighed = {name.partition(":")[0] for name in weighed}
        voted = [
            votes.ranking(min(self.limits.cited, self.papers)).rows
            for name, votes in self.votes.items()
            if name in weighed
        ]
        people = [matrix for name, matrix in self.people.items() if name in weighed]
        people += [] if seeds is None else [seeds]
        rows = []
        for i, query in enumerate(self.queries):
            parts = [self.signals.popular, np.array([query.paper]), *(of_kind[i] for of_kind in voted)]
            parts += [matrix.best(i, self.limits.cited) for matrix in people]
            if (only := filters[i].only) is not None:
                parts.append(only)
            rows.append(np.concatenate(parts).astype(np.int32))
        # A wide ranking may need as many papers of one shard.
        width = max(width, self.limits.papers)
        return ScoreRequest(
            words=self._words,
            vectors=self.vectors,
            encoders={name: name.partition(":")[0] for name in self.vectors},
            rows=rows,
            nearest=self._nearest,
            searches=[self._field(form, field) for form, field in SEARCHES[self.local]],
            # The neighbours' search is the one by title and abstract.
            nearest_by=None if self.local else self._field("whole", "text"),
            fields=[self._field(signal.form, signal.field) for signal in self.text_signals.values()],
            own=self._own_contexts,
            filters=filters,
            width=width,
            postings=self.limits.postings,
        )

    def _field(self, form: str, field: str) -> TextField:
        return TextField(self.forms.index(form), field)

    def _fill_pools(self, request: ScoreRequest) -> None:
        """Ask every shard for its candidates; the pools' papers ascend, with padding behind them."""
        replies: Sequence[ScoreReply] = self._answered(self.index.shards.score(request))
        queries = range(len(self.queries))
        pools = [np.concatenate([np.zeros(0, np.int32), *(r.rows[i] for r in replies)]) for i in queries]
        longest = max(map(len, pools))
        self._pool_rows = np.stack(
            [np.pad(pool, (0, longest - len(pool)), constant_values=NO_ROW) for pool in pools]
        )
        self._pool_values = {name: np.zeros((len(pools), longest), np.float32) for name in self.text_signals}
        self._pool_values |= {name: np.zeros((len(pools), longest), np.float32) for name in self.vectors}
        for i in queries:
            texts, similarities = (
                np.concatenate([np.zeros((count, 0), np.float32), *(part[i] for part in parts)], axis=1)
                for count, parts in (
                    (len(self.text_signals), [reply.texts for reply in replies]),
                    (len(self.vectors), [reply.similarities for reply in replies]),
                )
            )
            values = dict(zip([*self.text_signals, *self.vectors], [*texts, *similarities], strict=True))
            for name, of_query in values.items():
                self._pool_values[name][i, : len(of_query)] = of_query
        self._best = {
            name: self._pool_values[name].max(axis=1, keepdims=True, initial=0) for name in self.text_signals
        }

    def _blended_values(self, name: str) -> Matrix:
        """(Q, P) a signal of the pools' papers, not of texts; similarities are at least 0, and 0 to the own paper."""
        rows = self._pool_rows
        values = np.where(rows == NO_ROW, 0, self.value_at(name, rows))
        if name in self.vectors:
            own = np.array([query.paper for query in self.queries])[:, None]
            values = np.where(rows == own, 0, np.maximum(values, 0))
        return values

    def _retrievable(self, filters: Sequence[PaperFilter]) -> NDArray[np.bool_]:
        """(Q, P) which papers of the pools each query may retrieve."""
        rows, years = self._pool_rows, self.index.corpus.years
        result: NDArray[np.bool_] = rows != NO_ROW
        for kept, of_query, query, papers in zip(result, rows, self.queries, filters, strict=True):
            kept &= of_query != query.paper
            if query.exclude:
                kept &= ~np.isin(of_query, query.exclude)
            if self.signals.alive is not None:
                kept &= self.signals.alive[of_query]
            if not papers.is_open:
                kept &= papers.allowed_at(of_query, years)
        return result

    # -- values of candidates --------------------------------------------------------------------------------

    def texts_at(self, rows: NDArray[np.int32]) -> dict[str, Matrix]:
        """(Q, k) each text signal of given papers of the pools."""
        columns, padding = self._columns(rows), rows == NO_ROW
        return {
            name: np.where(padding, 0, np.take_along_axis(self._pool_values[name], columns, 1))
            for name in self.text_signals
        }

    def similarities_at(self, name: str, rows: NDArray[np.int32]) -> Matrix:
        """(Q, k) the similarity of given papers of the pools to the queries' vectors."""
        values = np.take_along_axis(self._pool_values[name], self._columns(rows), 1)
        return np.where(rows == NO_ROW, np.float32(0), values)

    def _columns(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """(Q, k) the columns of given papers in the pools; any one at ``NO_ROW``.

        Raises:
            ValueError: a paper is in no pool.
        """
        columns = np.zeros(rows.shape, np.int64)
        for i, pool in enumerate(self._pool_rows):
            held = pool[pool != NO_ROW]
            if len(held):
                columns[i] = np.minimum(np.searchsorted(held, rows[i]), len(held) - 1)
            if ((pool[columns[i]] != rows[i]) & (rows[i] != NO_ROW)).any():
                raise ValueError("signals are known of the papers that a ranking's pools hold alone")
        return columns

    def text_best(self, name: str) -> Matrix:
        """(Q, 1) the best score of a text signal in the pool of each query, once :meth:`ranking` has made them."""
        return self._best[name]

    def _answered(self, replies: Sequence[Reply | None]) -> list[Reply]:
        """The replies of the shards that answered; the others are remembered."""
        self.missing |= {number for number, reply in enumerate(replies) if reply is None}
        return [reply for reply in replies if reply is not None]


def _merged(parts: Sequence[Sequence[Best]], queries: int, depth: int) -> Ranking:
    """(Q, depth) the best of all shards by their scores, as weights of votes; equal scores in order of the row."""
    rows = np.full((queries, depth), NO_ROW, np.int32)
    scores = np.full((queries, depth), -np.inf, np.float32)
    for i in range(queries):
        best = Best.of([part[i] for part in parts], depth)
        rows[i, : len(best.rows)], scores[i, : len(best.rows)] = best
    return relative(Ranking(rows, scores))


def _widened(ranking: Ranking, width: int) -> Ranking:
    """The same ranking with padding up to ``width`` columns."""
    missing = ((0, 0), (0, max(0, width - ranking.depth)))
    return Ranking(
        np.pad(ranking.rows, missing, constant_values=NO_ROW),
        np.pad(ranking.scores, missing, constant_values=-np.inf),
    )

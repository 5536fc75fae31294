"""Seeds: papers that an author likes or dislikes, and what they say of every other paper.

A list of seeds speaks for a paper by links of the citation graph
(:func:`~cocite.retrieval.signals.seed_links.seed_links`), by words that title and abstract share with those of the
seeds (BM25, summed over the seeds), and by the similarity of its vector to the mean of theirs, for each encoder in use.
Each kind of evidence is scaled so that its best paper has 1; :data:`SEED_WEIGHTS` weigh them, and the sum is scaled
again::

    seeds(paper) = likes(paper) - DISLIKES * dislikes(paper)
    score(paper) = text(paper) + best * SEEDS[kind] * seeds(paper)

``best`` is the best of the query's scores by its text, or 1 where it has none: then the seeds alone order the papers,
and what they say nothing for is left out. Where a learned stage orders the candidates, its scores are first brought to
0 … 1. A dislike is Rocchio's negative example (1971), which counts less than a positive one there, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.pipeline.options import Candidates, Stages, by_kind
from cocite.pipeline.reordering import relevances
from cocite.pipeline.signals import Signals
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.shards.messages import SearchRequest
from cocite.retrieval.shards.paper_filter import PaperFilter
from cocite.retrieval.signals.seed_links import Evidence, seed_links
from cocite.retrieval.signals.sparse_scores import SparseScores

Matrix = NDArray[np.float32]

SIGNAL = "seeds"
"""The name of the score among a candidate's signals and stages."""
SEED_WEIGHTS = {"cocited": 0.8, "cited": 0.4, "citing": 0.2, "coupled": 0.1, "text": 0.4, "vectors": 0.4}
"""Kind of evidence -> weight; that of ``vectors`` is shared by all encoders in use.

All but that of ``vectors`` maximise the recall of hidden references on the ACL corpus' dev split."""
SEEDS = {"global": 0.5, "local": 0.3, "seeds": 0.5}
"""Kind of a query -> weight of the seeds beside its text, chosen on the same split.

``benchmarks/seeds.py`` chose that of ``global``, ``benchmarks/like_cited.py`` that of ``local``. Without a text, seeds
order the papers whatever their weight."""
DISLIKES = 0.25
"""Weight of the disliked papers beside the liked ones, chosen likewise with simulated dislikes."""
NEAREST = 1_000
"""Papers that each search by words or vectors gives."""
POSTINGS = 500_000
"""Postings that a search by the seeds' words reads in a shard at most, rarest words first."""


class SeedScores:
    """Scores papers by a query's seeds.

    Args:
        signals: of the index, with the encoders in use.
        dislikes: weight of the disliked papers beside the liked ones.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> corpus = starter_corpus()
        >>> scores = SeedScores(Signals(Index.build(corpus, History.all(corpus))))
        >>> query = Query("q", like=(corpus.row("bahdanau2015neural"), corpus.row("luong2015effective")))
        >>> corpus.ids(scores.of([query]).best(0, 1))
        ['sutskever2014sequence']
    """

    def __init__(self, signals: Signals, *, dislikes: float = DISLIKES) -> None:
        self._signals, self._index, self._dislikes = signals, signals.index, dislikes

    def of(self, queries: Sequence[Query]) -> SparseScores | None:
        """(Q, N) the scores of all papers, at most 1, and 0 for a query without seeds; None: no query has any."""
        if not any(query.has_seeds for query in queries):
            return None
        return SparseScores.stack([self._of_query(query) for query in queries], len(self._index))

    def _of_query(self, query: Query) -> tuple[NDArray[np.int32], Matrix]:
        """The papers of a query in ascending order, and their scores."""
        likes, dislikes = self._closeness(query, query.like), self._closeness(query, query.dislike)
        rows, values = _added([(likes, 1.0), (dislikes, -self._dislikes)])
        return rows.astype(np.int32), values.astype(np.float32)

    def _closeness(self, query: Query, seeds: Sequence[int]) -> Evidence:
        """The papers near some of a query's seeds, the nearest with 1."""
        if not seeds:
            return Evidence(np.zeros(0, np.int64), np.zeros(0))
        rows = np.unique(np.asarray(seeds, np.int64))
        barred = np.array([*query.like, *query.dislike, query.paper])
        found = [
            (_scaled(self._kept(evidence, query, barred)), SEED_WEIGHTS[name])
            for name, evidence in seed_links(
                self._index.history, rows, until=query.candidates_until, without=query.paper
            ).items()
        ]
        papers = PaperFilter.rows(barred[barred != NO_ROW]).until(query.candidates_until)
        found.append((_scaled(self._by_words(rows, papers)), SEED_WEIGHTS["text"]))
        for name in self._signals.encoders:
            share = SEED_WEIGHTS["vectors"] / len(self._signals.encoders)
            found.append((_scaled(self._by_vectors(name, rows, papers)), share))
        return _scaled(_added(found))

    def _kept(self, evidence: Evidence, query: Query, barred: NDArray[np.int64]) -> Evidence:
        """The evidence for papers that may be candidates: the others must not set the scale."""
        kept = self._index.alive[evidence.rows] & ~np.isin(evidence.rows, barred)
        if query.candidates_until is not None:
            kept &= self._index.corpus.years[evidence.rows] <= query.candidates_until
        return Evidence(evidence.rows[kept], evidence.values[kept])

    def _by_words(self, seeds: NDArray[np.int64], papers: PaperFilter) -> Evidence:
        """The papers that match the seeds' titles and abstracts best; the words of a title in two seeds count twice."""
        words = self._index.paper_words([seed_text(self._index.corpus, seeds)])
        return self._searched(SearchRequest("text", [words], None, [papers], NEAREST, POSTINGS))

    def _by_vectors(self, name: str, seeds: NDArray[np.int64], papers: PaperFilter) -> Evidence:
        """The papers nearest to the mean of the seeds' vectors."""
        mean = np.asarray(self._index.paper_vectors(name)[seeds], np.float32).mean(axis=0, keepdims=True)
        length = float(np.linalg.norm(mean))
        if not length:
            return Evidence(np.zeros(0, np.int64), np.zeros(0))
        return self._searched(SearchRequest(name, None, mean / length, [papers], NEAREST))

    def _searched(self, request: SearchRequest) -> Evidence:
        """The best papers of all shards that answered; those of the others are missed as every signal misses them."""
        found = [reply[0] for reply in self._index.shards.search(request) if reply is not None]
        rows = np.concatenate([np.zeros(0, np.int64), *(best.rows for best in found)])
        values = np.concatenate([np.zeros(0), *(best.scores for best in found)])
        order = np.argsort(rows, kind="stable")
        order = order[values[order] > 0]
        return Evidence(rows[order].astype(np.int64), values[order])


def seed_text(corpus: Corpus, seeds: Iterable[int] | NDArray[np.int64]) -> str:
    """The titles and abstracts of some papers as one text.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> seed_text(corpus, [corpus.row("vaswani2017attention")])[:25]
        'Attention Is All You Need'
    """
    columns = [corpus.papers.take(name, seeds) for name in ("title", "abstract")]
    return " ".join(part for column in columns for part in column if part)


def add_seeds(
    blend: Matrix, seeds: Matrix, queries: Sequence[Query], *, weight: float | None = None
) -> Matrix:
    """Add the scores by seeds, in place, to those by text.

    Args:
        blend: (Q, k) scores by text, of which the best of each query sets its scale.
        seeds: (Q, k) scores by seeds of the same papers.
        queries: Q queries; of one without a text, papers that its seeds do not speak for get ``-inf``.
        weight: of the seeds beside the text; None: that of each query's kind.

    Returns:
        (Q, 1) what a score by seeds was multiplied with.

    Example:
        >>> blend = np.array([[4.0, 1.0]], np.float32)
        >>> add_seeds(blend, np.array([[0.0, 1.0]], np.float32), [Query("q", title="Parsing", like=(7,))])
        array([[2.]], dtype=float32)
        >>> blend.tolist()
        [[4.0, 3.0]]
    """
    best = blend.max(axis=1, keepdims=True, initial=0)
    weights = np.array([[SEEDS[query.kind] if weight is None else weight] for query in queries])
    scale: Matrix = (weights * np.where(best > 0, best, 1)).astype(np.float32)
    blend += scale * seeds
    for i, query in enumerate(queries):
        if query.kind == "seeds":
            blend[i, seeds[i] <= 0] = -np.inf
    return scale


def with_seeds(queries: Sequence[Query], candidates: Candidates, stages: Stages) -> Stages:
    """The scores of all stages, and the seeds' beside them; where a learned stage orders, they are added to its scores.

    The first stage's scores hold them already.
    """
    if SIGNAL not in candidates.signals:
        return stages
    seeds = candidates.signals[SIGNAL]
    last = stages.last.copy()
    for kind, positions in by_kind(queries):
        seeded = [i for i in positions if queries[i].has_seeds]
        if seeded and stages.orders[kind] != "first-stage":
            last[seeded] = relevances(stages.last[seeded]) + SEEDS[kind] * seeds[seeded]
    return replace(stages, scores={SIGNAL: seeds, **stages.scores}, last=last)


def without_seeds(query: Query) -> Query:
    """The same query; its seeds are never recommended."""
    if not query.has_seeds:
        return query
    return replace(query, exclude=(*query.exclude, *query.like, *query.dislike))


def _added(parts: Iterable[tuple[Evidence, float]]) -> Evidence:
    """The weighted sum of evidence of several kinds."""
    parts = list(parts)
    rows, inverse = np.unique(np.concatenate([part.rows for part, _ in parts]), return_inverse=True)
    values: NDArray[Any] = np.concatenate([weight * part.values for part, weight in parts])
    total = np.bincount(inverse, values, minlength=len(rows)).astype(np.float64)
    return Evidence(rows, total)


def _scaled(evidence: Evidence) -> Evidence:
    """The same evidence, its best paper with 1."""
    best = evidence.values.max(initial=0)
    return Evidence(evidence.rows, evidence.values / best) if best > 0 else evidence

"""Changes the order of scored candidates on request: much-cited papers further down, like papers further apart.

Both begin with a query's last scores s, brought to relevances u = (s - min) / (max - min) over its candidates, 1 where
all are equal. With a share of 0 neither changes anything.

**Popularity** p damps relevances by known citations c::

    damped(i) = u(i) * (1 - p * log(1 + c(i)) / log(1 + max c))

**Diversity** d picks papers one after the other, each time the one of greatest maximal marginal relevance (Carbonell
and Goldstein, SIGIR 1998, with lambda = 1 - d), r being u, or the damped relevance::

    mmr(i) = (1 - d) * r(i) - d * max over the picked j of max(cos(i, j), 0)

The cosines are of the papers' own vectors: of the first encoder of :data:`VECTORS` whose vectors the index holds, or of
any other; without one, of the tf-idf of titles and abstracts over the query's candidates. The first paper stays the
first, and a longer list begins with the shorter one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.options import Options, Stages
from cocite.protocols import NO_ROW
from cocite.retrieval.index.search_index import SearchIndex

VECTORS = ("sentence", "hatten", "nnselect", "mp-bert4cr")
"""Encoders whose vectors are compared, the first that the index has; text encoders first, for topics."""
Values = NDArray[np.float64]


class Reordering:
    """Applies ``popularity`` and ``diversity`` of the options.

    Args:
        index: the papers, their citations and vectors.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> rows, scores = np.array([[291, 7, 11]]), np.array([[3.0, 2.0, 1.0]], np.float32)
        >>> index.history.in_citations[rows].tolist()
        [[112, 1, 4]]
        >>> stages = Reordering(index).apply(rows, Stages({"blend": scores}, scores), Options(popularity=0.9))
        >>> list(stages.scores), stages.scores["damped"].round(2)
        (['blend', 'damped'], array([[0.1 , 0.43, 0.  ]], dtype=float32))
    """

    def __init__(self, index: SearchIndex) -> None:
        self._index = index

    def apply(self, rows: NDArray[np.integer], stages: Stages, options: Options) -> Stages:
        """The scores with a stage ``damped``, and a stage ``mmr`` that orders the first papers alone.

        Args:
            rows: (Q, k) the candidates.
            stages: their scores.
            options: with shares, and how many papers are wanted.
        """
        if not (options.popularity or options.diversity):
            return stages
        values = relevances(np.where(rows == NO_ROW, -np.inf, stages.last))
        scores = dict(stages.scores)
        if options.popularity:
            cited = np.log1p(self._index.history.in_citations[np.maximum(rows, 0)].astype(np.float64))
            values = damped(values, np.where(rows == NO_ROW, 0, cited), options.popularity)
            scores["damped"] = _finite(values)
        if options.diversity:
            values = np.stack(
                [
                    self._diverse(of_query, relevance, last, options)
                    for of_query, relevance, last in zip(rows, values, stages.last, strict=True)
                ]
            )
            scores["mmr"] = _finite(values)
        return replace(stages, scores=scores, last=values.astype(np.float32))

    def _diverse(
        self, rows: NDArray[np.integer], relevance: Values, last: NDArray[np.float32], options: Options
    ) -> Values:
        """(k,) the marginal relevance of the first papers of a query, ``-inf`` of the others."""
        # By relevance, and among equals in the order before, so that the first of equals is picked.
        before = np.lexsort((np.arange(len(rows)), -last, -relevance))
        order = before[rows[before] != NO_ROW]
        result = np.full(len(rows), -np.inf)
        if len(order):
            picked, marginal = mmr(
                relevance[order],
                self._vectors(rows[order]),
                options.diversity,
                options.offset + options.top_k,
            )
            result[order[picked]] = marginal
        return result

    def _vectors(self, rows: NDArray[np.integer]) -> Any:
        """(k, d) unit vectors of some papers, dense or sparse."""
        held = self._index.encoder_ids
        name = next((name for name in (*VECTORS, *held) if name in held), None)
        if name is not None:
            vectors = np.asarray(self._index.paper_vectors(name)[rows], np.float32)
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
            return vectors / np.where(norms > 0, norms, 1)
        papers = self._index.corpus.papers
        pairs = zip(papers.take("title", rows), papers.take("abstract", rows), strict=True)
        return word_vectors([" ".join(filter(None, pair)) for pair in pairs])


def word_vectors(texts: list[str]) -> Any:
    """(k, w) sparse unit vectors: the tf-idf of some texts' words, each counted by its logarithm.

    Example:
        >>> vectors = word_vectors(["chart parsing", "parsing charts", "?"])
        >>> vectors.shape, (vectors @ vectors.T).toarray().round(2).tolist()[2]
        ((3, 3), [0.0, 0.0, 0.0])
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes half a second to import

    try:
        return TfidfVectorizer(sublinear_tf=True, dtype=np.float32).fit_transform(texts)
    except ValueError:  # no text has a word
        return np.zeros((len(texts), 1), np.float32)


def relevances(scores: NDArray[np.floating[Any]]) -> Values:
    """(Q, k) scores brought to 0 … 1 within each query; ``-inf`` marks padding, and stays.

    Example:
        >>> relevances(np.array([[-2.0, 2.0, 0.0, -np.inf], [5.0, 5.0, 5.0, 5.0]])).tolist()
        [[0.0, 1.0, 0.5, -inf], [1.0, 1.0, 1.0, 1.0]]
    """
    values = np.asarray(scores, np.float64)
    known = np.isfinite(values)
    lowest = np.where(known, values, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    highest = np.where(known, values, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    span = np.where(highest > lowest, highest - lowest, 1)
    result = np.where(highest > lowest, np.where(known, values - lowest, 0) / span, 1)
    return np.where(known, result, -np.inf)


def damped(relevance: Values, cited: Values, share: float) -> Values:
    """(Q, k) relevances, damped by the logarithms of citations (Q, k).

    Example:
        >>> damped(np.array([[1.0, 0.9]]), np.array([[4.0, 1.0]]), 0.5).round(4).tolist()
        [[0.5, 0.7875]]
    """
    most = cited.max(axis=1, keepdims=True, initial=0)
    return relevance * (1 - share * cited / np.where(most > 0, most, 1))


def mmr(relevance: Values, vectors: Any, diversity: float, count: int) -> tuple[NDArray[np.int64], Values]:
    """The first papers by maximal marginal relevance.

    Args:
        relevance: (k,) of the papers, greatest first.
        vectors: (k, d) unit vectors, dense or sparse.
        diversity: d of the module's formula.
        count: n, papers to pick.

    Returns:
        (n,) the picked papers, first the first one, and their marginal relevances, which fall from one to the next.

    Example:
        >>> vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # the second is like the first
        >>> picked, marginal = mmr(np.array([1.0, 0.9, 0.5]), vectors, diversity=0.5, count=3)
        >>> picked.tolist(), marginal.round(2).tolist()
        ([0, 2, 1], [0.5, 0.25, -0.05])
    """
    count = min(count, len(relevance))
    picked, marginal = np.zeros(count, np.int64), np.zeros(count)
    values, nearest, free = (
        (1 - diversity) * relevance,
        np.zeros(len(relevance)),
        np.ones(len(relevance), bool),
    )
    for n in range(count):
        picked[n] = best = int(np.argmax(np.where(free, values - diversity * nearest, -np.inf)))
        free[best] = False
        marginal[n] = values[best] - diversity * nearest[best]
        if n:  # equal ones would be told apart by their columns, not by when they were picked
            below = np.nextafter(np.float32(marginal[n - 1]), np.float32(-np.inf))
            marginal[n] = min(np.float32(marginal[n]), below)
        nearest = np.maximum(nearest, _cosines(vectors, best))
    return picked, marginal


def _cosines(vectors: Any, one: int) -> Values:
    """(k,) cosines of unit vectors with one of them."""
    products = vectors @ vectors[[one]].T
    return np.asarray(products.todense() if hasattr(products, "todense") else products, np.float64).ravel()


def _finite(values: Values) -> NDArray[np.float32]:
    return np.where(np.isfinite(values), values, np.nan).astype(np.float32)

"""L2-LR: a logistic regression with an L2 penalty over meta-path features (Yu et al., 2012)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.bounds import Factor, PositiveSmallCount
from cocite.config import Settings
from cocite.corpus.history import History
from cocite.errors import InputError
from cocite.protocols import Query, Ranking
from cocite.retrieval.dense_search import search_dense
from cocite.retrieval.index.index import Index
from cocite.systems.meta_paths.features import MetaPathFeatures
from cocite.text.fields import FieldEncoder, FieldSettings

BLOCK = 16
"""Queries whose features are held at a time, in training."""


class L2LrSettings(Settings):
    """How the weights are fitted.

    Example:
        >>> L2LrSettings(queries=300).penalty
        1.0
    """

    queries: PositiveSmallCount = 500
    """Papers of the training period that are held out as queries, the latest: at most half of those that cite."""
    negatives: PositiveSmallCount = 100
    """Papers for each query that it does not cite, drawn at random: those of similar terms would teach the model that
    similar terms speak against a citation."""
    penalty: Factor = 1.0
    """Weight of half the squared length of the weights, beside the sum of the log losses."""


@dataclass(frozen=True)
class L2Lr:
    """The weights of the features.

    Attributes:
        names: of the features that were seen.
        weights: (F,) of each feature as it is, in log-odds.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> model = fit_l2_lr(History.until(starter_corpus(), 2017), L2LrSettings(queries=40))
        >>> len(model.names) == len(model.weights), model.names[0]
        (True, 'P-terms-P')
        >>> bool(dict(zip(model.names, model.weights))["P-terms-P>P"] > 0)
        True
    """

    names: tuple[str, ...]
    weights: NDArray[np.float64]


class L2LrRanker:
    """Ranks all papers by L2-LR, with the paths that an index's history knows.

    Args:
        index: with papers and history.
        model: the weights; a feature that it has not seen counts nothing.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> known = History.until(corpus, 2018)
        >>> ranker = L2LrRanker(Index.build(corpus, known), fit_l2_lr(known, L2LrSettings(queries=40)))
        >>> ranking = ranker.search([Query("q", title="Pre-training of transformers for language understanding")], 5)
        >>> ranking.rows.shape
        (1, 5)
    """

    def __init__(self, index: Index, model: L2Lr, fields: FieldSettings | None = None) -> None:
        self.index = index
        self.fields = FieldEncoder.build(index.history, fields or FieldSettings(), metadata=True)
        self.features = MetaPathFeatures(index.history, self.fields)
        self._weights = dict(zip(model.names, model.weights.tolist(), strict=True))

    def scores(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, N) log-odds, up to a constant; ``-inf`` where a query may not retrieve a paper."""
        own = np.array([query.paper for query in queries], np.int32)
        total = np.zeros((len(queries), len(self.index)), np.float32)
        for name, values in self.features.values(self.fields.queries(queries), own):
            total += np.float32(self._weights.get(name, 0.0)) * values
        return self.index.forbid(total, queries)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query."""
        return search_dense(queries, k, len(self.index), self.scores)


def fit_l2_lr(
    history: History, settings: L2LrSettings, seed: int = 0, fields: FieldSettings | None = None
) -> L2Lr:
    """Fit the weights to the links of a training period.

    The latest papers of the period that cite others are queries; features know the links of the others alone, so that
    no link is its own feature. Papers that a query does not cite are drawn from the period too.

    Args:
        history: the training period.
        settings: of the fit.
        seed: of what is drawn.
        fields: how much of a paper is read.

    Raises:
        InputError: fewer than two papers of the period cite others, or those cite all papers of it.
    """
    rng = np.random.default_rng([seed, 0])
    examples = held_out_examples(history, settings.queries, settings.negatives, rng, fields)
    return L2Lr(examples.features.names, fit_weights(examples.values, examples.cited, settings.penalty))


@dataclass(frozen=True)
class Examples:
    """Pairs of a paper that is held out as a query, and a paper that it cites or not.

    Attributes:
        features: of what is known without the queries.
        queries: (Q,) their rows.
        query: (P,) the position of each pair's query among them.
        paper: (P,) row of each pair's paper.
        values: (P, F) features.
        cited: (P,) whether the query cites the paper.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> known = History.until(starter_corpus(), 2017)
        >>> examples = held_out_examples(known, most=40, negatives=5, rng=np.random.default_rng(0))
        >>> len(examples.queries), examples.values.shape == (len(examples.paper), len(examples.features.names))
        (40, True)
    """

    features: MetaPathFeatures
    queries: NDArray[np.int32]
    query: NDArray[np.int64]
    paper: NDArray[np.int64]
    values: NDArray[np.float32]
    cited: NDArray[np.bool_]


def held_out_examples(
    history: History, most: int, negatives: int, rng: np.random.Generator, fields: FieldSettings | None = None
) -> Examples:
    """The pairs of the latest papers of a period, with what the others know as features.

    Args:
        history: the period.
        most: queries at most, see :func:`held_out`.
        negatives: papers of the period drawn for each query; those that it cites are left out.
        rng: what draws them.
        fields: how much of a paper is read.

    Raises:
        InputError: as :func:`fit_l2_lr`.
    """
    queries = held_out(history, most, rng)
    citing = history.citing.copy()
    citing[queries] = False
    known = History(history.corpus, citing)
    encoder = FieldEncoder.build(known, fields or FieldSettings(), metadata=True)
    features = MetaPathFeatures(known, encoder)
    parts = [
        _examples(features, history, queries, start, negatives, rng)
        for start in range(0, len(queries), BLOCK)
    ]
    query, paper, values, cited = (np.concatenate(column) for column in zip(*parts, strict=True))
    if cited.all():
        raise InputError(
            "the papers that are held out cite all papers of the training period", hint="import more papers"
        )
    return Examples(features, queries, query, paper, values, cited)


def held_out(history: History, most: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """The latest papers of a history that cite others, at most half of them; those of one year in random order.

    Raises:
        InputError: there are fewer than two.
    """
    rows = rng.permutation(np.flatnonzero(history.citing & (history.cites.degrees > 0)))
    if len(rows) < 2:
        raise InputError(
            "fewer than two papers of the training period cite others", hint="import more papers with links"
        )
    latest = rows[np.argsort(-history.corpus.years[rows], kind="stable")]
    return latest[: min(most, len(rows) // 2)].astype(np.int32)


def fit_weights(
    values: NDArray[np.float32], labels: NDArray[np.bool_], penalty: float
) -> NDArray[np.float64]:
    """(F,) the weights w that minimise sum of log(1 + exp(-y (w·x / s + b))) + penalty / 2 |w|², divided by s.

    Args:
        values: (P, F) x, features of pairs.
        labels: (P,) whether y is 1, else -1.
        penalty: of weights of features that are divided by their standard deviation s.
    """
    from sklearn.linear_model import LogisticRegression

    scale = values.astype(np.float64).std(axis=0)
    scale[scale == 0] = 1
    # scikit-learn weighs the losses and not the penalty; without one its C is infinite.
    model = LogisticRegression(C=1 / penalty if penalty else np.inf, tol=1e-7, max_iter=2000)
    model.fit(values / scale, labels)
    return np.asarray(model.coef_[0] / scale, np.float64)


def _examples(
    features: MetaPathFeatures,
    history: History,
    every: NDArray[np.int32],
    start: int,
    negatives: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32], NDArray[np.bool_]]:
    """(P,) query and paper, (P, F) features and (P,) labels of the pairs of a block of queries."""
    queries = every[start : start + BLOCK]
    made = features.of_papers(queries)
    owner, cited = history.cites.gather(queries)
    pool = np.flatnonzero(history.citing)
    paper = pool[rng.integers(0, len(pool), len(queries) * negatives)]
    query = np.repeat(np.arange(len(queries)), negatives)
    is_negative = ~history.cites.contains(queries[query], paper) & (paper != queries[query])
    query = np.concatenate([owner, query[is_negative]])
    paper = np.concatenate([cited, paper[is_negative]])
    values = np.stack([made[name][query, paper] for name in features.names], axis=1)
    return query + start, paper, values, np.arange(len(query)) < len(owner)

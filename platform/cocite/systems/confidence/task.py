"""Fits the probabilities to scored dev queries, and compares them with those of simpler methods.

Whatever is measured here is measured by parts of the manuscripts: each part's probabilities were fitted to the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.systems.confidence.calibration import (
    FEATURES,
    MOST_POINTS,
    Calibration,
    list_features,
    list_ranks,
)
from cocite.systems.confidence.measures import brier_score, calibration_error

LEAST_GROUP = 25
"""Fewest candidates whose share of cited ones isotonic regression reads: few hits make no step of their own."""
SHOWN = 20
"""Best candidates of a query that probabilities are measured on: as many as a request asks for by default."""


@dataclass(frozen=True)
class ScoredQueries:
    """The candidates of Q queries, scored by a stage that did not see these queries.

    Attributes:
        scores: (Q, k), ``-inf`` for padding.
        relevant: (Q, k) whether the query cites the candidate.
        papers: (Q,) the manuscript each query comes from.

    Example:
        >>> scored = ScoredQueries(np.array([[2.0, 1.0]]), np.array([[True, False]]), np.array([7]))
        >>> scored.take(np.array([0])).pairs(1)
        array([[ True, False]])
    """

    scores: NDArray[np.floating[Any]]
    relevant: NDArray[np.bool_]
    papers: NDArray[np.integer[Any]]

    def take(self, positions: NDArray[np.integer[Any]]) -> ScoredQueries:
        """Some of the queries."""
        return ScoredQueries(self.scores[positions], self.relevant[positions], self.papers[positions])

    def pairs(self, ranks: int) -> NDArray[np.bool_]:
        """(Q, k) whether a candidate is among the ``ranks`` best of its query."""
        among: NDArray[np.bool_] = np.isfinite(self.scores) & (list_ranks(self.scores) < ranks)
        return among


def fit(
    data: ScoredQueries,
    *,
    ranks: int,
    depth: int,
    rerank: int = 0,
    features: Sequence[str] = FEATURES,
    platt: bool = False,
) -> Calibration:
    """Fit a calibration: a logistic regression weighs the features, and isotonic regression maps the sum.

    Args:
        data: dev queries.
        ranks: number of best candidates that are fitted to.
        depth, rerank: as of :class:`Calibration`.
        features: which of :data:`FEATURES` are weighed.
        platt: take the logistic regression's probability (Platt 1999) in place of an isotonic one.

    Raises:
        InputError: the queries cite none of the candidates, or all of them.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> scores = rng.normal(size=(200, 10))
        >>> relevant = rng.random(scores.shape) < 1 / (1 + np.exp(3 - 2 * scores))
        >>> calibration = fit(ScoredQueries(scores, relevant, np.arange(200)), ranks=10, depth=10)
        >>> low, high = calibration.probabilities_of(np.array([[-1.0, 2.0]]))[0]
        >>> bool(low < 0.1 < 0.5 < high)
        True
    """
    from sklearn.linear_model import LogisticRegression

    pairs = data.pairs(ranks)
    known, hits = list_features(data.scores)[pairs], data.relevant[pairs]
    if not hits.any() or hits.all():
        raise InputError(
            "all dev queries cite none of their best candidates, or all of them",
            hint="give more queries, or more ranks",
        )
    chosen = [FEATURES.index(name) for name in features]
    spread = known[:, chosen].std(axis=0)
    model = LogisticRegression(C=100.0, max_iter=1000).fit(
        known[:, chosen] / np.where(spread > 0, spread, 1), hits
    )
    weights = np.zeros(len(FEATURES))
    weights[chosen] = model.coef_[0] / np.where(spread > 0, spread, 1)
    sums = known @ weights
    if platt:
        points = np.quantile(sums, np.linspace(0, 1, MOST_POINTS // 2))
        points = np.unique(points)
        values = 1 / (1 + np.exp(-(points + model.intercept_[0])))
    else:
        points, values = _isotonic(sums, hits)
    ranked = list_ranks(data.scores)
    by_rank = [float(data.relevant[pairs & (ranked == rank)].mean()) for rank in range(_width(pairs))]
    return Calibration(
        weights=(float(weights[0]), float(weights[1])),
        points=tuple(points.tolist()),
        probabilities=tuple(values.tolist()),
        ranks=ranks,
        depth=depth,
        rerank=rerank,
        by_rank=tuple(by_rank),
    )


def _width(pairs: NDArray[np.bool_]) -> int:
    """The longest list."""
    return int(pairs.sum(axis=1).max(initial=0))


def _isotonic(
    sums: NDArray[np.float64], hits: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points of a rising function and their probabilities: the two ends of each of its steps.

    A step's probability is its share of hits with half a hit and half a miss added, so that none is 0 or 1.
    """
    from sklearn.isotonic import IsotonicRegression

    size = LEAST_GROUP
    while True:
        points, counts, sizes = _groups(sums, hits, size)
        smooth = IsotonicRegression().fit_transform(points, counts / sizes, sample_weight=sizes)
        _, steps = np.unique(smooth, return_inverse=True)
        first = np.flatnonzero(np.diff(steps, prepend=-1))
        last = np.append(first[1:], len(steps)) - 1
        ends = np.unique(np.concatenate([first, last]))
        if len(ends) <= MOST_POINTS:
            break
        size *= 2
    shares = (np.bincount(steps, counts) + 0.5) / (np.bincount(steps, sizes) + 1)
    return points[ends], np.maximum.accumulate(shares)[steps[ends]]


def _groups(
    sums: NDArray[np.float64], hits: NDArray[np.bool_], size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Groups of about ``size`` candidates by rising sum: mean sum, number of hits, and size; equal sums share one."""
    _, same = np.unique(sums, return_inverse=True)
    before = np.append(0, np.cumsum(np.bincount(same))[:-1])
    _, of_distinct = np.unique(before // size, return_inverse=True)
    # The last group takes in what is too little for one of its own.
    if of_distinct[-1] and len(sums) - before[of_distinct == of_distinct[-1]][0] < size:
        of_distinct[of_distinct == of_distinct[-1]] -= 1
    numbers = of_distinct[same]
    sizes = np.bincount(numbers).astype(np.float64)
    counts = np.bincount(numbers, hits).astype(np.float64)
    return np.bincount(numbers, sums) / sizes, counts, sizes


def _fit_by_rank(data: ScoredQueries, *, ranks: int, depth: int) -> Callable[[ScoredQueries], Any]:
    """Isotonic regression of the score within groups of ranks: 1, 2 to 3, 4 to 10, and the others."""
    bounds = [(0, 1), (1, 3), (3, 10), (10, ranks)]
    fitted = []
    for first, last in bounds:
        within = (list_ranks(data.scores) >= first) & data.pairs(min(last, ranks))
        part = ScoredQueries(np.where(within, data.scores, -np.inf), data.relevant, data.papers)
        if within.any() and data.relevant[within].any():
            fitted.append((first, last, fit(part, ranks=ranks, depth=depth, features=("score",))))

    def predict(other: ScoredQueries) -> Any:
        result = np.full(other.scores.shape, np.nan)
        for first, last, calibration in fitted:
            within = (list_ranks(other.scores) >= first) & other.pairs(last)
            values = calibration.probabilities_of(np.where(within, other.scores, -np.inf))
            result = np.where(within, values, result)
        return np.where(np.isnan(result) & other.pairs(ranks), 0, result)

    return predict


def _predict(calibration: Calibration, data: ScoredQueries) -> Any:
    return calibration.probabilities_of(data.scores)


def base_rates(calibration: Calibration, data: ScoredQueries) -> NDArray[np.float64]:
    """(Q, k) the share of cited papers at each candidate's rank, whatever its score; NaN beyond the calibrated ranks.

    Example:
        >>> scored = ScoredQueries(np.array([[2.0, 3.0]]), np.array([[True, False]]), np.array([7]))
        >>> flat = Calibration(
        ...     weights=(0, 0), points=(0,), probabilities=(0.2,), ranks=2, depth=2, by_rank=(0.4, 0.1)
        ... )
        >>> base_rates(flat, scored).tolist()
        [[0.1, 0.4]]
    """
    shares = np.append(calibration.by_rank, np.nan)
    ranks = np.where(data.pairs(len(shares) - 1), list_ranks(data.scores), len(shares) - 1)
    values: NDArray[np.float64] = shares[ranks]
    return values


def compare_methods(data: ScoredQueries, *, ranks: int, folds: int, seed: int) -> dict[str, dict[str, float]]:
    """Calibration error and Brier score of each method over the :data:`SHOWN` best candidates, by cross-fitting.

    Returns:
        Method -> ``ECE``, ``ECE, equal width``, ``Brier`` and ``ECE, best`` (of the best candidate alone).
    """
    methods: dict[str, Callable[[ScoredQueries], Callable[[ScoredQueries], Any]]] = {
        "rank alone": lambda part: partial(base_rates, fit(part, ranks=ranks, depth=1)),
        "Platt, score": lambda part: partial(
            _predict, fit(part, ranks=ranks, depth=1, features=("score",), platt=True)
        ),
        "isotonic, score": lambda part: partial(
            _predict, fit(part, ranks=ranks, depth=1, features=("score",))
        ),
        "isotonic, share": lambda part: partial(
            _predict, fit(part, ranks=ranks, depth=1, features=("share",))
        ),
        "isotonic, score within ranks": lambda part: _fit_by_rank(part, ranks=ranks, depth=1),
        "isotonic, score and share": lambda part: partial(_predict, fit(part, ranks=ranks, depth=1)),
    }
    result = {}
    for name, method in methods.items():
        values = np.full(data.scores.shape, np.nan)
        for part, rest in folds_of(data.papers, folds, seed):
            values[part] = method(data.take(rest))(data.take(part))
        result[name] = measure(values, data)
    return result


def measure(probabilities: NDArray[np.float64], data: ScoredQueries) -> dict[str, float]:
    """Calibration error and Brier score of probabilities (Q, k) of the :data:`SHOWN` best candidates.

    Example:
        >>> scored = ScoredQueries(np.array([[2.0, 3.0]]), np.array([[True, False]]), np.array([7]))
        >>> {name: round(value, 3) for name, value in measure(np.array([[0.9, 0.2]]), scored).items()}
        {'ECE': 0.15, 'ECE, equal width': 0.15, 'ECE, best': 0.2, 'Brier': 0.025}
    """
    shown, best = data.pairs(SHOWN), data.pairs(1)
    values, hits = probabilities[shown], data.relevant[shown]
    return {
        "ECE": calibration_error(values, hits),
        "ECE, equal width": calibration_error(values, hits, by="width"),
        "ECE, best": calibration_error(probabilities[best], data.relevant[best]),
        "Brier": brier_score(values, hits),
    }


def folds_of(
    papers: NDArray[np.integer[Any]], folds: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Positions of the queries of each part of the manuscripts, and of the others.

    Raises:
        InputError: there are fewer than two manuscripts.

    Example:
        >>> [(part.tolist(), rest.tolist()) for part, rest in folds_of(np.array([4, 4, 9]), 5, seed=0)]
        [([0, 1], [2]), ([2], [0, 1])]
    """
    manuscripts = np.random.default_rng(seed).permutation(np.unique(papers))
    if len(manuscripts) < 2:
        raise InputError("the dev queries are of fewer than two manuscripts", hint="give more queries")
    for members in np.array_split(manuscripts, min(folds, len(manuscripts))):
        inside = np.isin(papers, members)
        yield np.flatnonzero(inside), np.flatnonzero(~inside)

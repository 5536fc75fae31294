"""Ranking metrics: P@k, R@k, F1@k, MRR, MAP@k.

The public evaluators compute most of these, but from dictionaries of dictionaries: on 1,000 queries x 2,000
candidates ir_measures takes 1.7 s, and a second more goes into building its dictionaries, which for 27,000
queries would fill several gigabytes. Here 27,000 queries take about a second in flat memory, so that one can
measure at every epoch and in every trial. The tests hold each value equal to ir_measures' own, and
:mod:`cocite.evaluation.reference_metrics` recomputes any run through it.

Two definitions differ from the public evaluators' on purpose:

- MAP@k divides the average precision cut at k by ``min(k, relevant)``, so that a perfect ranking scores 1
  (trec_eval's ``map_cut`` divides by ``relevant``).
- F1@k of a corpus is the harmonic mean of the *averaged* P@k and R@k (Citeomatic, section 5), not the average
  of the queries' F1. The per-query value, which a paired test needs, is the harmonic mean of the query's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite import ranking_metrics
from cocite.errors import InputError, nearest
from cocite.evaluation.hits import Hits
from cocite.evaluation.significance import number_papers
from cocite.ranking_metrics import Values

LOCAL = ("MRR", "R@10", "R@20", "R@100", "R@1000", "R@2000", "MAP@10")
"""The metrics that the local and co-citation protocols report."""
GLOBAL = ("P@10", "P@20", "R@20", "F1@20", "MRR", "R@100", "R@1000")
"""The metrics that the global protocol reports."""


def precision(hits: Hits, k: int) -> Values:
    """P@k of each query: relevant papers among the first k, divided by k. NaN without relevant papers.

    Example:
        >>> precision(Hits(np.array([0, 1]), np.array([2], np.int32), np.array([7], np.int32), depth=10), 5)
        array([0.2])
    """
    return _judged(hits, ranking_metrics.precision_of(_retrieved(hits, k), k))


def recall(hits: Hits, k: int) -> Values:
    """R@k of each query: the share of its relevant papers among the first k. NaN without relevant papers.

    Example:
        >>> recall(Hits(np.array([0, 2]), np.array([2, 8], np.int32), np.array([7, 1], np.int32), depth=10), 5)
        array([0.5])
    """
    return _judged(hits, ranking_metrics.recall_of(_retrieved(hits, k), hits.relevant))


def f1(hits: Hits, k: int) -> Values:
    """Harmonic mean of each query's own P@k and R@k; 0 where both are 0.

    Example:
        >>> f1(Hits(np.array([0, 2]), np.array([2, 8], np.int32), np.array([7, 1], np.int32), depth=10), 2)
        array([0.5])
    """
    return ranking_metrics.f1(precision(hits, k), recall(hits, k))


def reciprocal_rank(hits: Hits, k: int | None = None) -> Values:
    """1 / rank of the first relevant paper, 0 where none is among the first k (all by default).

    Example:
        >>> reciprocal_rank(Hits(np.array([0, 2]), np.array([4, 8], np.int32), np.array([7, 1], np.int32), depth=10))
        array([0.25])
    """
    first = np.zeros(len(hits), np.int32)
    judged = hits.relevant > 0
    ranks = hits.ranks[hits.indptr[:-1][judged]]  # ascending within a query
    first[judged] = np.where(ranks <= min(k or hits.depth, hits.depth), ranks, 0)
    return _judged(hits, ranking_metrics.reciprocal_rank_of(first))


def average_precision(hits: Hits, k: int) -> Values:
    """Average precision cut at k: the sum of the precision at each relevant rank up to k, over ``min(k, relevant)``.

    Example:
        >>> hits = Hits(np.array([0, 2]), np.array([1, 4], np.int32), np.array([7, 1], np.int32), depth=10)
        >>> average_precision(hits, 10)
        array([0.75])
    """
    number = (
        np.arange(len(hits.ranks)) - hits.indptr[hits.owners] + 1
    )  # j of the j-th relevant paper of its query
    gain = np.where(hits.ranks <= k, number / hits.ranks, 0)
    total = np.bincount(hits.owners, gain, minlength=len(hits))
    return total / np.where(hits.relevant, np.minimum(hits.relevant, k), np.nan)


@dataclass(frozen=True)
class Metric:
    """A metric by its name: ``P@10``, ``R@1000``, ``F1@20``, ``MRR``, ``MRR@10``, ``MAP@10``.

    Attributes:
        kind: ``P``, ``R``, ``F1``, ``MRR`` or ``MAP``.
        k: depth; None for MRR over the whole ranking.

    Example:
        >>> hits = Hits(np.array([0, 2]), np.array([2, 4], np.int32), np.array([7, 1], np.int32), depth=10)
        >>> metric = Metric.parse("MAP@3")
        >>> str(metric), metric.mean(hits)
        ('MAP@3', 0.25)
    """

    kind: str
    k: int | None

    @classmethod
    def parse(cls, name: str) -> Metric:
        """Read a name.

        Raises:
            InputError: there is no such metric, or its depth is missing.
        """
        match = re.fullmatch(r"([A-Za-z0-9]+?)(?:@([1-9]\d{0,6}))?", name.strip())
        kind = match[1].upper() if match else name
        if match is None or kind not in _KINDS:
            raise InputError(f"no metric is called {name!r}", hint=nearest(kind, [*_KINDS]))
        if match[2] is None and kind != "MRR":
            raise InputError(f"the metric {name!r} needs a depth", hint=f"for example {kind}@10")
        return cls(kind, int(match[2]) if match[2] else None)

    def __str__(self) -> str:
        return self.kind if self.k is None else f"{self.kind}@{self.k}"

    def per_query(self, hits: Hits) -> Values:
        """(Q,) the value of each query, NaN where nothing is relevant."""
        return _KINDS[self.kind](hits, self.k)

    def mean(self, hits: Hits) -> float:
        """The value of the whole set of queries; those without relevant papers do not count."""
        if self.kind == "F1" and self.k is not None:
            return float(ranking_metrics.f1(_mean(precision(hits, self.k)), _mean(recall(hits, self.k))))
        return _mean(self.per_query(hits))


@dataclass(frozen=True)
class Measurement:
    """Metrics of one run.

    Attributes:
        queries: how many queries were judged (have a relevant paper).
        means: value of the whole set, by metric.
        per_query: (Q,) values, by metric.
        citing: (Q,) the paper that each query comes from; None: not known.

    Example:
        >>> hits = Hits(np.array([0, 1, 2]), np.array([2, 4], np.int32), np.array([7, 1], np.int32), depth=10)
        >>> measure(hits, ["MRR"]).per_query["MRR"]
        array([0.5 , 0.25])
    """

    queries: int
    means: dict[str, float]
    per_query: dict[str, Values]
    citing: NDArray[np.int32] | None = None

    @property
    def papers(self) -> int:
        """How many papers the judged queries come from; a query of an unknown paper counts as one."""
        if self.citing is None or not self.per_query:
            return self.queries
        judged = ~np.isnan(next(iter(self.per_query.values())))
        return len(np.unique(number_papers(self.citing[judged])))

    @property
    def is_grouped(self) -> bool:
        """Whether several judged queries come from one paper."""
        return self.papers < self.queries


def measure(hits: Hits, metrics: Sequence[str]) -> Measurement:
    """The values of some metrics, per query and for the whole set, in the order given."""
    parsed = [Metric.parse(name) for name in metrics]
    return Measurement(
        int((hits.relevant > 0).sum()),
        {str(metric): metric.mean(hits) for metric in parsed},
        {str(metric): metric.per_query(hits) for metric in parsed},
        hits.citing,
    )


def means(hits: Hits, metrics: Sequence[str]) -> dict[str, float]:
    """The values of some metrics for the whole set alone.

    Example:
        >>> means(Hits(np.array([0, 1]), np.array([2], np.int32), np.array([7], np.int32), depth=10), ["MRR", "R@1"])
        {'MRR': 0.5, 'R@1': 0.0}
    """
    return {str(metric): metric.mean(hits) for metric in map(Metric.parse, metrics)}


_KINDS: dict[str, Callable[[Hits, int | None], Values]] = {
    "P": lambda hits, k: precision(hits, _depth(k)),
    "R": lambda hits, k: recall(hits, _depth(k)),
    "F1": lambda hits, k: f1(hits, _depth(k)),
    "MRR": reciprocal_rank,
    "MAP": lambda hits, k: average_precision(hits, _depth(k)),
}


def _depth(k: int | None) -> int:
    if k is None:
        raise ValueError("a depth is needed")
    return k


def _retrieved(hits: Hits, k: int) -> Values:
    """(Q,) how many relevant papers stand among the first k."""
    return np.bincount(hits.owners[hits.ranks <= k], minlength=len(hits)).astype(np.float64)


def _judged(hits: Hits, values: Values) -> Values:
    return np.where(hits.relevant > 0, values, np.nan)


def _mean(values: Values) -> float:
    judged = values[~np.isnan(values)]
    return float(judged.mean()) if len(judged) else float("nan")

"""Whether a stage of the pipeline orders candidates no worse than the stage before it, on the same dev queries.

The metrics are those that a stage may not lower: F1@20 (of the two means, as Citeomatic defines it), MRR and R@10.
Intervals are bootstrap percentiles over manuscripts, not over queries: two gaps of one paper are too alike to count
twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cocite.bootstrap import resampled_means
from cocite.protocols import NO_ROW
from cocite.ranking_metrics import f1, precision_at, recall_at, reciprocal_rank

METRICS = ("F1@20", "MRR", "R@10")

Keep = Literal["unless_below", "always"]
"""What becomes of a trained stage: left out of the pipeline if it is below the stage before it on dev, or never."""
Values = NDArray[np.float64]


def query_values(hits: NDArray[np.bool_], counts: NDArray[np.integer[Any]]) -> Values:
    """(Q, 4) precision and recall at 20, reciprocal rank, and recall at 10 of each query.

    Args:
        hits: (Q, k) whether each candidate is relevant, best first.
        counts: (Q,) how many papers are relevant to each query, found or not.
    """
    values = (
        precision_at(hits, 20),
        recall_at(hits, counts, 20),
        reciprocal_rank(hits),
        recall_at(hits, counts, 10),
    )
    return np.stack(values, axis=1)


def score_values(
    scores: NDArray[np.float32], relevant: NDArray[np.bool_], counts: NDArray[np.integer[Any]]
) -> Values:
    """The values of :func:`query_values`, for candidates (Q, k) in any order, ranked by their scores."""
    order = np.argsort(-scores, axis=1, kind="stable")
    return query_values(np.take_along_axis(relevant, order, axis=1), counts)


def metric_means(values: Values) -> dict[str, float]:
    """The metrics of all queries from :func:`query_values`."""
    return dict(zip(METRICS, _metrics(values.mean(axis=0)).tolist(), strict=True))


def _metrics(means: Values) -> Values:
    """(..., 3) the metrics from the means (..., 4) of the queries' values."""
    return np.stack([f1(means[..., 0], means[..., 1]), means[..., 2], means[..., 3]], axis=-1)


@dataclass(frozen=True)
class StageComparison:
    """A stage against the one before it.

    Attributes:
        stage: name of the stage.
        before: name of what it reorders.
        kind: of the queries, ``local`` or ``global``.
        queries: Q, how many dev queries were ordered by both.
        manuscripts: how many papers they come from.
        values: metric -> (of the stage, of the one before).
        intervals: metric -> 95 % interval of the stage's value.
        differences: metric -> 95 % interval of the difference; ``mean`` is that of the mean of the three metrics.

    Example:
        >>> hits = np.array([[True, False], [False, True]])
        >>> new, old = query_values(hits, np.array([1, 1])), query_values(hits[:, ::-1], np.array([1, 1]))
        >>> comparison = compare_stages("nnrank", "nnselect", "global", new[:1], old[:1], np.array([0]))
        >>> comparison.below, comparison.values["MRR"]
        (False, (1.0, 0.5))
    """

    stage: str
    before: str
    kind: str
    queries: int
    manuscripts: int
    values: Mapping[str, tuple[float, float]]
    intervals: Mapping[str, tuple[float, float]]
    differences: Mapping[str, tuple[float, float]]

    @property
    def below(self) -> bool:
        """Whether the stage is below the one before it: in any of the metrics, by however little.

        A stage costs time, so it has to earn its place: a loss that may be noise leaves it out, as a gain in one metric
        does not make up for a loss in another. The intervals say how sure that is.
        """
        return any(new < old for new, old in self.values.values())

    @property
    def sentence(self) -> str:
        """The comparison in words, with the numbers and the intervals of the differences."""
        parts = []
        for metric in METRICS:
            (new, old), (low, high) = self.values[metric], self.differences[metric]
            parts.append(f"{metric} {new:.3f} against {old:.3f} [{low:+.3f}, {high:+.3f}]")
        place = "below" if self.below else "not below"
        return (
            f"{self.stage} is {place} {self.before} on {self.queries:,} {self.kind} dev queries "
            f"of {self.manuscripts:,} manuscripts: {', '.join(parts)} (in brackets the 95 % interval of the difference)"
        )

    def record(self) -> dict[str, Any]:
        """The comparison as a manifest holds it."""
        return {
            "stage": self.stage,
            "before": self.before,
            "kind": self.kind,
            "queries": self.queries,
            "manuscripts": self.manuscripts,
            "below": self.below,
            "values": _rounded(self.values),
            "intervals": _rounded(self.intervals),
            "differences": _rounded(self.differences),
        }


def compare_stages(
    stage: str, before: str, kind: str, new: Values, old: Values, manuscripts: NDArray[np.integer[Any]]
) -> StageComparison:
    """Compare two orders of the same queries' candidates.

    Args:
        stage, before: names.
        kind: of the queries.
        new, old: (Q, 4) from :func:`query_values`, of the stage and of the one before it.
        manuscripts: (Q,) the paper each query comes from; ``NO_ROW``: each query is one of its own.
    """
    # A query without a manuscript is drawn by itself: -1 and below are no rows.
    own = np.where(manuscripts == NO_ROW, -1 - np.arange(len(manuscripts)), manuscripts)
    means = resampled_means(np.concatenate([new, old], axis=1), own)
    ours, theirs = _metrics(means[:, :4]), _metrics(means[:, 4:])
    change = ours - theirs
    return StageComparison(
        stage,
        before,
        kind,
        len(new),
        len(np.unique(own)),
        dict(
            zip(
                METRICS, zip(metric_means(new).values(), metric_means(old).values(), strict=True), strict=True
            )
        ),
        _intervals(METRICS, ours),
        _intervals((*METRICS, "mean"), np.column_stack([change, change.mean(axis=1)])),
    )


def _intervals(names: Sequence[str], draws: Values) -> dict[str, tuple[float, float]]:
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(names)}


def _rounded(pairs: Mapping[str, tuple[float, float]]) -> dict[str, list[float]]:
    return {name: [round(value, 6) for value in pair] for name, pair in pairs.items()}


def stage_record(comparisons: Sequence[StageComparison], keep: Keep, *, left_out: str) -> dict[str, Any]:
    """The entries of a trained stage's manifest about its place in the pipeline.

    Args:
        comparisons: one of each kind of query.
        keep: the recipe's setting.
        left_out: what becomes of a stage that is below the one before it, as the end of a sentence.

    Returns:
        ``stages``: the numbers; ``notes``: a sentence for each; ``left_out``: kind of query -> that sentence, where the
        stage is left out.
    """
    result: dict[str, Any] = {"stages": [c.record() for c in comparisons], "notes": [], "left_out": {}}
    for comparison in comparisons:
        note = comparison.sentence
        if comparison.below and keep == "always":
            note += "; it is kept all the same, as keep=always says"
        elif comparison.below:
            note += f"; {left_out} (train it with keep=always to have it all the same)"
            result["left_out"][comparison.kind] = note
        result["notes"].append(note)
    return result

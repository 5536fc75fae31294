"""The same metrics through ir_measures, a public evaluator: to check a run by code that is not cocite's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cocite.evaluation.metrics import Metric


def is_comparable(metric: str) -> bool:
    """Whether ir_measures has the metric under cocite's definition, so that the values must be equal.

    Example:
        >>> is_comparable("R@10"), is_comparable("MAP@10")
        (True, False)
    """
    return Metric.parse(metric).kind in {"P", "R", "MRR"}


def per_query(
    qrels: dict[str, list[str]],
    runs: Iterable[dict[str, dict[str, float]]],
    metrics: Sequence[str],
) -> dict[str, dict[str, float]]:
    """Values by metric and query, computed by ir_measures.

    Args:
        qrels: relevant documents by query.
        runs: parts of a run, each {query: {document: score}}; one part is held at a time.
        metrics: names of which :func:`is_comparable` is true.

    Example:
        >>> per_query({"q": ["a"]}, [{"q": {"b": 2.0, "a": 1.0}}], ["MRR"])
        {'MRR': {'q': 0.5}}
    """
    import ir_measures

    names = {_measure(ir_measures, name): name for name in metrics}
    values: dict[str, dict[str, float]] = {name: dict.fromkeys(qrels, 0.0) for name in metrics}
    for part in runs:
        judged = {query: dict.fromkeys(qrels[query], 1) for query in part if query in qrels}
        for value in ir_measures.iter_calc(list(names), judged, part):
            values[names[value.measure]][value.query_id] = float(value.value)
    return values


def means(
    qrels: dict[str, list[str]], runs: Iterable[dict[str, dict[str, float]]], metrics: Sequence[str]
) -> dict[str, float]:
    """Averages over the queries that have a relevant document; a query that the run lacks counts as zero.

    Example:
        >>> means({"q": ["a"], "r": ["b"]}, [{"q": {"a": 1.0}}], ["MRR"])
        {'MRR': 0.5}
    """
    judged = [query for query, documents in qrels.items() if documents]
    return {
        name: float(np.mean([values[query] for query in judged])) if judged else float("nan")
        for name, values in per_query(qrels, runs, metrics).items()
    }


def _measure(library: Any, name: str) -> Any:
    metric = Metric.parse(name)
    kinds = {"P": library.P, "R": library.R, "MRR": library.RR}
    return kinds[metric.kind] if metric.k is None else kinds[metric.kind] @ metric.k

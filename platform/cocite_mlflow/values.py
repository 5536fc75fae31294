"""Metrics and parameters in the form that MLflow accepts: names of few characters, finite numbers, short texts."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from cocite.config import flat

PARAM_LIMIT = 6000
"""Longest value of a parameter, in characters: what MLflow accepts."""
PARAMS_PER_REQUEST = 100
"""Parameters in one request: what MLflow accepts."""


def mlflow_name(name: str) -> str:
    """A name that MLflow accepts: ``@``, ``>=`` and ``+`` become words, other special characters a dash.

    Example:
        >>> mlflow_name("positives >= 2/R@10")
        'positives ge 2/R_at_10'
    """
    kept = name.replace("@", "_at_").replace(">=", "ge").replace("+", "plus")
    return "".join(c if c.isalnum() or c in "_-./ " else "-" for c in kept)


def mlflow_params(values: Mapping[str, Any]) -> dict[str, str]:
    """Parameters as the store holds them: nested ones by dotted names, each value as text.

    Example:
        >>> mlflow_params({"task": "local", "model": {"dimension": 8}})
        {'task': 'local', 'model.dimension': '8'}
    """
    return {mlflow_name(name): str(value)[:PARAM_LIMIT] for name, value in flat(values).items()}


def mlflow_metrics(values: Mapping[str, float]) -> dict[str, float]:
    """Metrics as the store holds them; values that are not finite are left out, for a store cannot compare them.

    Example:
        >>> mlflow_metrics({"MRR": 0.25, "loss": float("nan")})
        {'MRR': 0.25}
    """
    return {mlflow_name(name): float(value) for name, value in values.items() if math.isfinite(value)}


def metric_entities(metrics: Mapping[str, float], step: int | None) -> list[Any]:
    """MLflow's objects of metrics that were measured now."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    return [Metric(name, value, now, step or 0) for name, value in metrics.items()]


def param_batches(params: Mapping[str, str]) -> list[list[Any]]:
    """MLflow's objects of parameters, in lists that fit into one request each."""
    from mlflow.entities import Param

    entities = [Param(name, value) for name, value in params.items()]
    return [
        entities[start : start + PARAMS_PER_REQUEST] for start in range(0, len(entities), PARAMS_PER_REQUEST)
    ]

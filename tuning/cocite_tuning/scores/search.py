"""Light trials, one after another in this process: hyperopt's own loop, thousands of trials in minutes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cocite.errors import CociteError
from cocite_tuning.study import Study
from cocite_tuning.trials import Trial

Sampler = Literal["tpe", "random"]


def search(
    study: Study,
    space: Any,
    *,
    metric: str,
    mode: Literal["max", "min"] = "max",
    sampler: Sampler = "tpe",
    trials: int,
    minutes: float | None = None,
    seed: int = 0,
    folder: Path = Path("."),
    params: Callable[[Any], Mapping[str, Any]] = dict,
    done: Callable[[Trial], object] = lambda _: None,
) -> list[Trial]:
    """Run the trials of a study that is prepared.

    Args:
        study: what is tuned.
        space: in hyperopt's own terms.
        metric: what is optimised, among the metrics of a trial.
        mode: whether more or less of it is better.
        sampler: ``tpe`` (Bergstra et al., 2011: "Algorithms for Hyper-Parameter Optimization") or ``random``.
        trials: how many.
        minutes: begin no further trial after so long.
        seed: of the sampler.
        folder: each trial's folder is ``folder/NUMBER``, made by the study if it wants one.
        params: makes a trial's parameters of a draw from the space.
        done: told of each trial as it ends.

    Returns:
        The trials in order; one that raised a :class:`~cocite.errors.CociteError` or whose metric is no number is
        ``failed``, and the search goes on without it.
    """
    import hyperopt

    result: list[Trial] = []

    def objective(draw: Any) -> dict[str, Any]:
        number, began = len(result), time.monotonic()
        chosen = {name: _plain(value) for name, value in params(draw).items()}
        curve: list[tuple[int, dict[str, float]]] = []
        metrics: dict[str, float] = {}
        error = ""
        try:
            metrics = study.run(
                chosen, lambda values, step: curve.append((step, dict(values))), folder / str(number)
            )
            if not math.isfinite(metrics.get(metric, math.nan)):
                error = f"the trial's {metric} is {metrics.get(metric)!r}, not a number"
        except CociteError as raised:
            error = str(raised)
        trial = Trial(
            number=number,
            params=chosen,
            metrics=metrics,
            curve=tuple(curve),
            state="failed" if error else "finished",
            seconds=time.monotonic() - began,
            error=error,
        )
        result.append(trial)
        done(trial)
        if error:
            return {"status": hyperopt.STATUS_FAIL}
        return {
            "status": hyperopt.STATUS_OK,
            "loss": -metrics[metric] if mode == "max" else metrics[metric],
        }

    hyperopt.fmin(
        objective,
        space,
        algo=hyperopt.tpe.suggest if sampler == "tpe" else hyperopt.rand.suggest,
        max_evals=trials,
        timeout=None if minutes is None else max(1, round(60 * minutes)),
        rstate=np.random.default_rng(seed),
        show_progressbar=False,
        verbose=False,
        allow_trials_fmin=False,
    )
    return result


def _plain(value: Any) -> Any:
    """A draw as JSON has it: NumPy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value

"""Trials of sweeps whose truth is known, for tests of trials and reports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cocite_tuning.sweep.trials import Trial, Trials


def rate_trials(count: int = 60, *, noise: float = 0.01, seed: int = 0) -> Trials:
    """``rate`` matters much, ``kind`` little, ``idle`` not at all; only trials of ``kind = b`` have ``inner``."""
    rng = np.random.default_rng(seed)
    trials = [Trial(number=0, params={}, metrics={"MRR": 0.2}, seconds=2)]
    for number in range(1, count):
        rate, kind = float(10 ** rng.uniform(-4, -1)), str(rng.choice(["a", "b"]))
        params: dict[str, Any] = {"model.rate": rate, "kind": kind, "idle": float(rng.uniform(0, 1))}
        if kind == "b":
            params["inner"] = int(rng.integers(1, 5))
        value = 0.4 - 0.1 * (math.log10(rate) + 2.5) ** 2 + 0.02 * (kind == "b") + noise * rng.normal()
        curve = tuple((step, {"MRR": value * step / 4}) for step in range(1, 4))
        trials.append(Trial(number=number, params=params, metrics={"MRR": value}, curve=curve, seconds=3))
    trials.append(Trial(number=count, params={"model.rate": 0.1}, state="failed", error="<no memory> & more"))
    stopped = {"MRR": 0.9}
    trials.append(Trial(number=count + 1, params={"idle": 0.5}, metrics=stopped, state="stopped"))
    return Trials(sweep="rates", metric="MRR", trials=tuple(trials))


def depth_trials() -> Trials:
    """Trials of K of two stages: more is better and slower."""
    trials = [
        Trial(
            number=i,
            params={"depth": depth, "rerank": rerank},
            metrics={
                "R@10": 0.3 + 0.05 * math.log10(depth) + 0.002 * rerank,
                "latency_ms": 5 + depth / 20 + rerank,
            },
        )
        for i, (depth, rerank) in enumerate((d, r) for d in (10, 100, 1000) for r in (0, 10, 50))
    ]
    return Trials(sweep="depths", metric="R@10", trials=tuple(trials))

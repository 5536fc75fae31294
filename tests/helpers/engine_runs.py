"""Trainings of the tiny task, recorded, interrupted and taken up again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.training.engine.loop import train
from cocite.training.engine.result import TrainResult
from cocite.training.engine.stores import FolderStore, Write
from cocite.training.engine.world import World
from helpers.bag_task import BagTask, settings

# Evaluation, checkpoints, mining and epochs (7 steps) fall on different steps.
UNEVEN = {"epochs": 2, "evaluate_every": 4, "checkpoint_every": 3, "refresh_every": 5}


class Killed(Exception):
    """The process is gone."""


class KilledStore(FolderStore):
    """A store whose processes are killed once a step is saved."""

    killed_at = 0

    def save(self, step: int, write: Write, metrics: Mapping[str, float]) -> None:
        super().save(step, write, metrics)
        if step == self.killed_at:
            raise Killed


@dataclass
class Run:
    """What came of a training."""

    losses: dict[int, float] = field(default_factory=dict)
    norms: dict[int, float] = field(default_factory=dict)
    dev: dict[int, float] = field(default_factory=dict)
    logged: list[dict[str, float]] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    weights: dict[str, NDArray[Any]] = field(default_factory=dict)
    outcome: TrainResult | None = None


def run(
    world: World,
    changes: Mapping[str, Any],
    folder: Path | None = None,
    *,
    kill: int = 0,
    fingerprint: str = "tiny",
    **task_options: Any,
) -> Run:
    """Train the tiny task with changed settings; with ``kill``, until the checkpoint of that step."""
    chosen = settings(**changes)
    task = BagTask(chosen, **task_options)
    store = KilledStore(folder, world, metric=task.metric, keep=2) if folder else None
    if store:
        store.killed_at = kill
    result = Run()

    def log(metrics: dict[str, float], step: int) -> None:
        result.logged.append(metrics | {"step": step})
        if "loss" in metrics:
            result.losses[step], result.norms[step] = metrics["loss"], metrics["gradient_norm"]
        else:
            result.dev[step] = metrics["fit"]

    try:
        result.outcome = train(task, chosen, world=world, store=store, fingerprint=fingerprint, log=log)
    except Killed:
        if not kill:
            raise
    result.seen = task.seen
    result.weights = {name: value.numpy() for name, value in task.model.state_dict().items()}
    return result


def far(one: Run, other: Run) -> float:
    """The largest relative difference between two trainings, in the steps that both logged, and in the end."""
    apart = 0.0
    for name in ("losses", "norms", "dev"):
        a, b = getattr(one, name), getattr(other, name)
        common = sorted(set(a) & set(b))
        if common:
            left, right = np.array([a[s] for s in common]), np.array([b[s] for s in common])
            apart = max(apart, float(np.abs(left / right - 1).max()))
    for name, weight in one.weights.items():
        apart = max(apart, float(np.abs(weight - other.weights[name]).max() / np.abs(weight).max()))
    return apart

"""Which weights a training changes."""

from __future__ import annotations

from typing import Any

import torch

from cocite.training.engine.loop import train
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World


def changed_by(training: TrainingSettings, task: Any) -> set[str]:
    """Names of a task's weights that were others at a step that is logged; at the end the best ones are put back."""
    before = {name: weight.detach().clone() for name, weight in task.model.named_parameters()}
    changed: set[str] = set()

    def look(metrics: dict[str, float], step: int) -> None:
        weights = task.model.named_parameters()
        changed.update(name for name, weight in weights if not torch.equal(weight, before[name]))

    train(task, training, world=World(), log=look)
    return changed

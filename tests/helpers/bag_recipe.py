"""A neural kind small enough for tests of the workers: the engine's own test task, as a recipe that can go wrong."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import save_file
from torch import Tensor, nn

from cocite.artifacts import publish
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.training.engine.settings import TrainingSettings, WorkerSettings
from cocite_jobs.training.registry import KINDS, RecipeKind
from helpers.bag_task import BagTask


class Mishap(Settings):
    """Something that happens once, in the middle of a step."""

    what: Literal["kill", "nan", "defect", "full"] = "kill"
    """The worker is killed; the loss is no number; the code is wrong; the disk is full."""
    rank: int = 0
    step: int = 0
    """Of the optimizer, from 0."""
    marked: str = ""
    """A file that is made when it happens, and prevents it afterwards; without one it happens every time."""


class BagRecipe(Settings):
    """See ``BagTask``."""

    kind: Literal["bag"] = "bag"
    examples: int = 48
    pause: float = 0.0
    """Seconds that each pass takes longer."""
    mishap: Mishap | None = None
    visible_gpus: str = ""
    """A folder in which each rank writes what it is told of GPUs; empty: none does."""
    training: TrainingSettings = TrainingSettings()
    workers: WorkerSettings = WorkerSettings()


class Task(BagTask):
    """With mishaps, and with an artifact for a model."""

    def __init__(self, recipe: BagRecipe) -> None:
        super().__init__(recipe.training, examples=recipe.examples)
        self.recipe = recipe
        self.rank = int(os.environ.get("RANK", "0"))
        self.step = -1
        if recipe.visible_gpus:
            Path(recipe.visible_gpus, str(self.rank)).write_text(
                os.environ.get("CUDA_VISIBLE_DEVICES", "all")
            )

    def lengths(self, epoch: int) -> Any:
        return self.sizes

    def refresh(self, model: nn.Module, world: Any, step: int) -> None:
        super().refresh(model, world, step)
        self.step = step  # refresh_every: 1 in these tests

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        time.sleep(self.recipe.pause)
        loss = super().loss(model, batch)
        mishap = self.recipe.mishap
        if mishap is None or (self.rank, self.step) != (mishap.rank, mishap.step):
            return loss
        if mishap.marked:
            if Path(mishap.marked).exists():
                return loss
            Path(mishap.marked).touch()
        if mishap.what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if mishap.what == "defect":
            raise ZeroDivisionError("a defect")
        if mishap.what == "full":
            raise OSError(28, "No space left on device", "somewhere")
        return loss * float("nan")

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        with publish(folder, kind="bag", meta=dict(meta)) as temporary:
            weights = {name: value.contiguous() for name, value in self.model.state_dict().items()}
            save_file(weights, temporary / "model.safetensors")


def build(recipe: BagRecipe, corpus: Corpus, model_folder: Path) -> Task:
    return Task(recipe)


def register() -> None:
    """Register the kind."""
    KINDS["bag"] = RecipeKind("helpers.bag_recipe:BagRecipe", task="helpers.bag_recipe:build")


if __name__ == "__main__":  # the command line, with this kind
    from cocite.cli import main

    register()
    main(sys.argv[1:])

"""Trainings of the kind ``bag`` (``bag_recipe``), as tests of the workers run and compare them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from cocite.config import with_overrides
from cocite.corpus.store import Corpus
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.train import open_session
from cocite_jobs.training.types import LaunchOptions, TrainedArtifact
from helpers.bag_recipe import BagRecipe

TESTS = Path(__file__).parents[1]
STEPS = 18
TRAINING: dict[str, Any] = {
    "steps": STEPS, "batch": 8, "tokens": 20, "sort_within": 2, "log_every": 1, "refresh_every": 1,
    "evaluate_every": 6, "checkpoint_every": 3,
    "optimizer": {"learning_rate": 0.02, "weight_decay": 0.1, "clip": 0.5},
}  # fmt: skip
TWO_WORKERS = ["workers.count=2", "workers.timeout=300"]


def long_recipe(*overrides: str) -> BagRecipe:
    """A recipe of 18 steps with six checkpoints."""
    return BagRecipe.parse(with_overrides({"kind": "bag", "training": TRAINING}, overrides))


def train_bag(
    corpus: Corpus, to: Path, *overrides: str, on: str = "ray", start: str = "new"
) -> tuple[TrainedArtifact, dict[int, float]]:
    """Train :func:`long_recipe`; returns the artifact and the loss of each step, each of which is logged once."""
    losses: dict[int, float] = {}

    def log(metrics: dict[str, float], step: int) -> None:
        if "loss" in metrics:
            assert step not in losses
            losses[step] = metrics["loss"]

    options = LaunchOptions(on=on, start=start)  # type: ignore[arg-type]
    with open_session(long_recipe(*overrides), corpus, to, options) as session:
        return session.train(ProgressFunctions(log=log)), losses


def weights_of(folder: Path) -> Any:
    """All weights of the model in a model folder, as one vector."""
    tensors = load_file(folder / "bag" / "model.safetensors")
    return np.concatenate([tensors[name].ravel() for name in sorted(tensors)])


def train_command(corpus: Corpus, folder: Path, *arguments: str) -> list[str]:
    """A command line that trains :func:`long_recipe` into ``folder/model`` in a process of its own."""
    file = folder / "bag.yaml"
    file.write_text(json.dumps({"kind": "bag", "training": TRAINING}))
    return [
        *(sys.executable, "-m", "helpers.bag_recipe", "train", str(file), "--corpus", str(corpus.path)),
        *("--to", str(folder / "model"), *arguments),
    ]


def helpers_environment() -> dict[str, str]:
    """The variables of a process that finds these helpers."""
    return os.environ | {"PYTHONPATH": str(TESTS)}


@contextmanager
def training_at(
    step: int, command: list[str], folder: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """The process of :func:`train_command`, once the checkpoint of a step is there; it writes ``folder/log.txt``."""
    log = folder / "log.txt"
    with (
        log.open("w") as file,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=file, stderr=file) as driver,
    ):
        try:
            deadline = time.monotonic() + 600
            while not (folder / f"model/.bag.training/step-{step:08d}").is_dir():
                assert driver.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.05)
            yield driver
        except BaseException:
            driver.kill()
            raise

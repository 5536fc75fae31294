"""Trains what a reproduction lacks, and tells by what its models were trained."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cocite.manifests import Manifest, read_manifest
from cocite_jobs.reproduction.plan import Setup, Training
from cocite_jobs.reproduction.recipe_settings import changed_recipe
from cocite_jobs.training.progress import progress_on_bars
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.resuming import train_or_resume

CHECKPOINT_MINUTES = 2
"""A training leaves a checkpoint that often: what is lost when it is stopped."""


def overrides_of(setup: Setup, recipe: str, changes: Sequence[str], minutes: float | None) -> list[str]:
    """The overrides of a recipe: those of the size, the seed, and limits of time.

    Args:
        setup: of the reproduction.
        recipe: name of a shipped recipe.
        changes: ``key.path=value``.
        minutes: the most that it may train; the recipe's own limit holds if that is less.
    """
    settings: Any = load_recipe(recipe, changes)
    if not hasattr(settings, "training"):
        return [*changes]
    training = settings.training
    every = training.checkpoint_every or training.checkpoint_minutes
    more = [] if every else [f"training.checkpoint_minutes={CHECKPOINT_MINUTES}"]
    if minutes is not None:
        more.append(f"training.minutes={min(training.minutes or math.inf, minutes):.3f}")
    return [*changes, f"training.seed={setup.seed}", *more]


def recipe_training(
    name: str,
    recipe: str,
    changes: Sequence[str] = (),
    *,
    own: Sequence[str] = (),
    to: str = "model",
    weight: float = 1.0,
) -> Training:
    """A training of one shipped recipe.

    Args:
        name: of the training.
        recipe: name of a shipped recipe.
        changes: ``key.path=value``.
        own: further ones, by which it differs from other trainings of the plan, and which no user's setting changes.
        to: model folder below that of the reproduction.
        weight: its part of a budget.

    Example:
        >>> recipe_training("nnselect", "nnselect-paper").artifacts
        ('model/nnselect',)
    """
    kind = str(load_recipe(recipe, [*changes, *own]).kind)  # type: ignore[attr-defined]

    def load(setup: Setup, minutes: float | None = None) -> Any:
        chosen, more = changed_recipe(setup.settings, kind, recipe)
        return load_recipe(chosen, overrides_of(setup, chosen, [*changes, *more, *own], minutes))

    def train(setup: Setup, minutes: float | None) -> None:
        settings = load(setup, minutes)
        launch = setup.launch
        if getattr(getattr(settings, "workers", None), "count", 0) == 0:
            launch = replace(launch, on="process", address=None)  # a recipe that asks for no workers
        with progress_on_bars(setup.bars, f"training {name}") as progress:
            train_or_resume(settings, setup.corpus, setup.folder / to, progress, launch)

    return Training(name, (f"{to}/{kind}",), train, weight, kind, load)


def run_training(training: Training, setup: Setup, minutes: float | None) -> float:
    """Train; returns the seconds that this call took."""
    began = time.monotonic()
    training.train(setup, minutes)
    return time.monotonic() - began


def model_facts(folder: Path, artifacts: Sequence[str]) -> list[dict[str, Any]]:
    """Of each artifact its path, its digest, the step whose weights were kept, the seed, and what its layers add.

    Example:
        >>> model_facts(Path("folder"), [])
        []
    """
    return [_facts(artifact, read_manifest(folder / artifact)) for artifact in artifacts]


def _facts(artifact: str, manifest: Manifest) -> dict[str, Any]:
    recipe = manifest.meta.get("recipe", {})
    return {
        "model": artifact,
        "version": manifest.digest,
        "step": manifest.meta.get("step"),
        "seed": recipe.get("training", {}).get("seed"),
        "hierarchy": manifest.meta.get("hierarchy"),
    }

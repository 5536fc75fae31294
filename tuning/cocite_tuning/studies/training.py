"""A study whose trials are trainings: any recipe of the jobs, with other settings each time, measured on dev."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from cocite.atomic_files import write_atomic
from cocite.config import Settings, leaves
from cocite.corpus.store import Corpus
from cocite.errors import ConfigError
from cocite.manifests import MANIFEST, read_json
from cocite.pipeline.components import COMPONENTS, ENCODERS
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location
from cocite_jobs.training.inputs import prepare_inputs
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.registry import KINDS, load_object
from cocite_jobs.training.train import open_session, train
from cocite_jobs.training.training_run import TrainingRun
from cocite_jobs.training.types import LaunchOptions
from cocite_tuning.studies.settings import TrainingStudySettings
from cocite_tuning.studies.study import Report
from cocite_tuning.studies.usage import INDEX, MODEL, Locations, Usage, command
from cocite_tuning.studies.usage import training as training_command

OUTCOME = ".outcome.json"
"""What a trial ended with, in its folder: one that is run again has nothing to train any more."""
BUILT_ON: Mapping[str, tuple[str, ...]] = {
    "nnrank": ("nnselect",),
    "fusion": (*ENCODERS, "nnrank"),
    "final": COMPONENTS[: COMPONENTS.index("final")],
}
"""Member of a model folder -> those without which, or with others of the kind, its weights mean nothing."""


@dataclass(frozen=True)
class TrainingStudy:
    """Trains a recipe in each trial; a :class:`~cocite_tuning.studies.study.Study`.

    Attributes:
        settings: which recipe.
        corpus: path or URI of the corpus store.
        shared: folder of what all trials begin with.
        workers, cpus, gpus: of each trial: see :class:`cocite_tuning.sweep.sweep.ResourceSettings`.
    """

    settings: TrainingStudySettings
    corpus: str
    shared: Path
    workers: int = 1
    cpus: float = 1
    gpus: float = 0
    light: bool = field(default=False, init=False)

    @cached_property
    def kind(self) -> str:
        """Of the recipe: also the name of the artifact that is trained."""
        return str(load_recipe(self.settings.recipe).kind)  # type: ignore[attr-defined]

    @property
    def keys(self) -> Mapping[str, Any]:
        """All settings of the recipe, but who trains: that is said by the sweep's ``resources``."""
        found = leaves(KINDS[self.kind].recipe_class())
        return {
            key: value for key, value in found.items() if key != "kind" and not key.startswith("workers.")
        }

    def check(self, params: Mapping[str, Any]) -> None:
        """Refuse parameters that make no recipe.

        Raises:
            ConfigError: each may be possible, but not together.
        """
        if self.workers > 1 and not KINDS[self.kind].uses_engine:
            raise ConfigError(
                f"{self.kind} trains on one worker", where="resources.workers", hint="set it to 1"
            )
        self.recipe(params)

    def recipe(self, params: Mapping[str, Any], trial: str = "") -> Settings:
        """The recipe of some parameters; of a trial's name hangs where its checkpoints are kept."""
        values = {**self.settings.set, **params}
        if not KINDS[self.kind].uses_engine:
            return load_recipe(self.settings.recipe, values=values)
        values |= {"workers.count": self.workers, "workers.cpus": self.cpus, "workers.gpus": self.gpus}
        recipe: Any = load_recipe(self.settings.recipe, values=values)
        if recipe.workers.storage is None:
            return recipe  # type: ignore[no-any-return]
        storage = f"{recipe.workers.storage.rstrip('/')}/{trial}"
        return load_recipe(self.settings.recipe, values={**values, "workers.storage": storage})

    def leave(self, params: Mapping[str, Any], best: Path) -> None:
        """Nothing: the best trial's model is there."""

    def usage(self, params: Mapping[str, Any], place: Locations) -> Usage:
        """The endpoint with the best trial's model, and the training that made it."""
        commands = []
        if any((place.best / name).is_dir() for name in COMPONENTS):
            if any((place.best / name).is_dir() for name in ENCODERS):
                commands.append(
                    command("cocite", "index", "build", place.corpus, "--to", INDEX, "--model", place.best)
                )
            commands.append(command("cocite", "serve", "--index", INDEX, "--model", place.best))
        if any(self.shared.glob(f"*/{MANIFEST}")):
            commands.append(command("cp", "-r", f"{self.shared}/.", f"{MODEL}/"))
        commands.append(training_command(self.settings.recipe, self.recipe(params), place.corpus, MODEL))
        return Usage(tuple(commands), ("The last command trains the best trial's model again.",))

    # -- what all trials share -------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Train what comes before, and make what the recipe is trained on besides the corpus."""
        corpus = Corpus.open(fetch_local(self.corpus))
        self.shared.mkdir(parents=True, exist_ok=True)
        if self.settings.model is not None:
            _furnish(self.shared, self.settings.model, self.kind)
        for name in self.settings.before:
            earlier = load_recipe(name)
            if not (self.shared / str(earlier.kind) / MANIFEST).is_file():  # type: ignore[attr-defined]
                train(earlier, corpus, self.shared)
        recipe: Any = self.recipe({})
        prepare_inputs(recipe, corpus, Location.of(self.shared), ProgressFunctions())
        if getattr(getattr(recipe, "words", None), "source", None) == "corpus":
            # Word vectors are trained as a task is built, and kept in its folder.
            load_object(KINDS[self.kind].task or "")(recipe, corpus, self.shared)

    # -- one trial -------------------------------------------------------------------------------------------

    def run(self, params: Mapping[str, Any], report: Report, folder: Path) -> dict[str, float]:
        """Train; a training that was begun in the folder before is gone on with."""
        if (folder / OUTCOME).is_file():
            return dict(read_json(folder / OUTCOME))
        folder.mkdir(parents=True, exist_ok=True)
        if self.shared.is_dir():
            _furnish(folder, self.shared, self.kind)
        recipe = self.recipe(params, folder.name)
        if not self.gpus:
            torch.set_num_threads(max(1, int(self.cpus)))
        corpus = Corpus.open(fetch_local(self.corpus))
        with open_session(recipe, corpus, folder, self._manner(recipe, folder)) as training:
            trained = training.train(ProgressFunctions(log=report))
        metrics = {name: float(value) for name, value in trained.metrics.items() if math.isfinite(value)}
        if "seconds" in trained.details:
            metrics["seconds"] = float(trained.details["seconds"])
        write_atomic(folder / OUTCOME, json.dumps(metrics) + "\n")
        return metrics

    def _manner(self, recipe: Any, folder: Path) -> LaunchOptions:
        if not KINDS[self.kind].uses_engine:
            return LaunchOptions()
        begun = TrainingRun.of(recipe, Location.of(folder)).read_state() is not None
        return LaunchOptions(
            start="resume" if begun else "new",
            on="ray" if self.workers > 1 else "process",
            wait=True,  # trials come and go: what is taken now will be free
            source=self.corpus if "://" in self.corpus else None,
        )


def _furnish(folder: Path, source: Path, kind: str) -> None:
    """Put the artifacts of a model folder into another, where they are missing, but what builds on a kind, or is one.

    Links do: files of artifacts never change, and who replaces an artifact in a folder replaces it there alone.
    """
    for artifact in sorted(path.parent for path in source.glob(f"*/{MANIFEST}")):
        name = artifact.name
        if name == kind or kind in BUILT_ON.get(name, ()) or (folder / name).exists():
            continue
        linked(artifact, folder)


def linked(artifact: Path, folder: Path) -> None:
    """Put an artifact into a folder: its files are linked, and copied where that cannot be."""
    temporary = folder / f".{artifact.name}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        shutil.copytree(artifact, temporary, copy_function=_link)
        temporary.rename(folder / artifact.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
            raise
        shutil.copy2(source, target)  # another file system, or one without links

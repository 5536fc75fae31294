"""A study whose trials are trainings: any recipe of the jobs, each time with other settings, measured on dev."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from cocite.config import Settings, leaves
from cocite.corpus.store import Corpus
from cocite.errors import ConfigError
from cocite.manifests import MANIFEST
from cocite.pipeline.components import ENCODERS, component_names
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.connection import joins_cluster
from cocite_jobs.cluster.resources import check_batch, resolve_gpus
from cocite_jobs.steps.run_parts import Workers, connected
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location
from cocite_jobs.training.inputs import InParts, prepare_inputs
from cocite_jobs.training.progress import ProgressCallback, ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.registry import KINDS
from cocite_jobs.training.train import open_session
from cocite_jobs.training.training_run import TrainingRun
from cocite_jobs.training.types import LaunchOptions, Start
from cocite_tuning.studies.links import folder_below, put_components
from cocite_tuning.studies.study import ReportMetrics
from cocite_tuning.studies.training_settings import TrainingStudySettings
from cocite_tuning.studies.usage import INDEX, MODEL, UsageCommands, command_line, train_command

METRICS_FILE = ".outcome.json"
"""The final metrics of a trial, in its folder: a trial that is run again after it ended need not train."""
BUILT_ON: Mapping[str, tuple[str, ...]] = {
    "nnrank": ("nnselect",),
    "fusion": (*ENCODERS, "nnrank"),
    "final": component_names()[: component_names().index("final")],
    "confidence": component_names()[: component_names().index("confidence")],
}
"""Component of a model folder -> the components that its weights depend on: retrain one of those, and it is useless."""


@dataclass(frozen=True)
class TrainingStudy:
    """Trains a recipe in each trial; a :class:`~cocite_tuning.studies.study.Study`.

    Attributes:
        settings: which recipe.
        corpus: path or URI of the corpus store.
        shared: folder of the components that all trials begin with: a path, or a URI.
        workers, cpus, gpus: of each trial: see :class:`cocite_tuning.sweep.sweep.ResourceSettings`.

    Example:
        >>> settings = TrainingStudySettings(recipe="nnselect", set={"training.epochs": 2})
        >>> study = TrainingStudy(settings, "corpus", Path("shared"))
        >>> study.parameter_types["model.dimension"].__origin__
        <class 'int'>
        >>> recipe = study.recipe({"model.dimension": 50})
        >>> recipe.model.dimension, recipe.training.epochs
        (50, 2)
    """

    settings: TrainingStudySettings
    corpus: str | Path
    shared: Path | str
    workers: int = 1
    cpus: float = 1
    gpus: float | None = None
    in_process: bool = field(default=False, init=False)

    @cached_property
    def kind(self) -> str:
        """The kind of the recipe, which is also the name of the artifact that is trained."""
        return str(load_recipe(self.settings.recipe).kind)  # type: ignore[attr-defined]

    @property
    def uses_engine(self) -> bool:
        """Whether the training engine trains the recipe: the kinds that use GPUs and several workers."""
        return KINDS[self.kind].uses_engine

    @property
    def worker(self) -> WorkerSettings:
        """What a worker reserves for work beside the trials: as much as one of a trial."""
        gpus = self.gpus if self.uses_engine else self.gpus or 0
        return WorkerSettings(cpus=self.cpus, gpus=gpus, accelerator=self.accelerator)

    @property
    def accelerator(self) -> str | None:
        """Ray's name of the type of GPU that a trial runs on; None: any."""
        recipe: Any = self.recipe({}) if self.uses_engine else None
        return None if recipe is None else recipe.workers.accelerator

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics that a trial may end with; empty where they depend on the parameters."""
        names = KINDS[self.kind].metrics
        return (*names, "seconds") if names else ()

    @property
    def parameter_types(self) -> Mapping[str, Any]:
        """All settings of the recipe except the workers, which the sweep's ``resources`` determine."""
        types = leaves(KINDS[self.kind].recipe_class())
        return {
            key: value for key, value in types.items() if key != "kind" and not key.startswith("workers.")
        }

    def check_params(self, params: Mapping[str, Any]) -> None:
        """Refuse parameters that do not make a recipe together.

        Raises:
            ConfigError: the parameters exclude each other, or the recipe does not train on several workers.
        """
        if self.workers > 1 and not self.uses_engine:
            raise ConfigError(
                f"{self.kind} trains on one worker", where="resources.workers", hint="set it to 1"
            )
        recipe = self.recipe(params)
        if self.uses_engine:
            check_batch(recipe, self.workers)

    def recipe(self, params: Mapping[str, Any], trial: str = "") -> Settings:
        """The recipe of some parameters; each trial has a subfolder of its name for its checkpoints."""
        values = {**self.settings.set, **params}
        if not self.uses_engine:
            return load_recipe(self.settings.recipe, values=values)
        values |= {"workers.cpus": self.cpus, "workers.gpus": self.gpus}
        recipe: Any = load_recipe(self.settings.recipe, values=values)
        if self.workers > 1 or recipe.workers.count:
            # A recipe that trains in the process that asks for it does so in a trial too, and when it is repeated.
            values["workers.count"] = self.workers
        if recipe.workers.storage is not None:
            values["workers.storage"] = folder_below(recipe.workers.storage, trial)
        return load_recipe(self.settings.recipe, values=values)

    def export(self, params: Mapping[str, Any], folder: Path) -> None:
        """Write nothing: the sweep puts the best trial's model there."""

    def usage(self, params: Mapping[str, Any], corpus: str, best: Path) -> UsageCommands:
        """The commands that serve the best trial's model, and that train it again."""
        commands = []
        if any((best / name).is_dir() for name in component_names()):
            if any((best / name).is_dir() for name in ENCODERS):
                commands.append(
                    command_line("cocite", "index", "build", corpus, "--to", INDEX, "--model", best)
                )
            commands.append(command_line("cocite", "serve", "--index", INDEX, "--model", best))
        notes = ["The last command trains the best trial's model again."]
        shared = Location.of(self.shared)
        if any((shared / name).read(MANIFEST) is not None for name in shared.names()):
            if shared.local is not None:
                commands.append(command_line("cp", "-r", f"{self.shared}/.", f"{MODEL}/"))
            else:
                notes.append(f"Before it, copy the components in {shared.uri} to {MODEL}.")
        commands.append(train_command(self.settings.recipe, self.recipe(params), corpus, MODEL))
        return UsageCommands(tuple(commands), tuple(notes))

    def on_cluster(self, nodes: list[Mapping[str, float]]) -> TrainingStudy:
        """The study with a number of GPUs a worker, where none was chosen: see :func:`.resources.resolve_gpus`.

        Args:
            nodes: the resources of each living node, by Ray's names.
        """
        if not self.uses_engine:
            return self if self.gpus is not None else replace(self, gpus=0)
        return replace(self, gpus=resolve_gpus(self.worker, nodes).gpus)

    # -- what all trials share -------------------------------------------------------------------------------

    def prepare(self, *, wait: bool = False) -> None:
        """Train the earlier recipes, and make what the recipe is trained on besides the corpus.

        Args:
            wait: for resources that the cluster does not have yet.

        Raises:
            CociteError: see :func:`cocite_jobs.training.worker_task.run_on_worker`.
        """
        corpus = Corpus.open(fetch_local(str(self.corpus)))
        shared = Location.of(self.shared)
        if shared.local is not None:
            shared.local.mkdir(parents=True, exist_ok=True)
        if self.settings.model is not None:
            put_components(shared, Location.of(self.settings.model), self._is_taken_over)
        for name in self.settings.before:
            earlier = load_recipe(name)
            if (shared / str(earlier.kind)).read(MANIFEST) is None:  # type: ignore[attr-defined]
                self._train_before(earlier, corpus, shared, wait=wait)
        if not joins_cluster():
            prepare_inputs(self.recipe({}), corpus, shared, ProgressFunctions())
            return
        from cocite_jobs.training.inputs_on_ray import prepare_inputs_on_ray

        workers = Workers("ray", wait=wait)
        with connected(workers):
            in_parts = InParts(str(self.corpus), workers)
            prepare_inputs_on_ray(self.recipe({}), corpus, shared, ProgressFunctions(), in_parts)

    def _train_before(self, recipe: Any, corpus: Corpus, shared: Location, *, wait: bool) -> None:
        """Train an earlier recipe. What trains without workers is trained by a worker of the cluster, if there is one.

        Raises:
            CociteError: see :func:`cocite_jobs.training.worker_task.run_on_worker`.
        """
        has_workers = KINDS[recipe.kind].uses_engine and recipe.workers.count != 0
        options = LaunchOptions(wait=wait, source=self._source)
        if has_workers or not joins_cluster():
            _train_shared(recipe, options, corpus, shared, ProgressFunctions())
            return
        from cocite_jobs.training.worker_task import WorkerTask, run_on_worker

        task = WorkerTask(
            partial(_train_shared, recipe, options),
            doing=f"training {recipe.kind}",
            again="pass --resume to go on with the sweep",
            mark=f".{recipe.kind}.before",
            workers=recipe.workers if KINDS[recipe.kind].uses_engine else self.worker,
            folder="the sweep's folder",
            wait=wait,
        )
        with connected(Workers("ray", wait=wait)):
            run_on_worker(task, corpus, str(self.corpus), shared, ProgressFunctions())

    # -- one trial -------------------------------------------------------------------------------------------

    def run(self, params: Mapping[str, Any], report: ReportMetrics, folder: Path | str) -> dict[str, float]:
        """Train, continuing a training that was interrupted in the same folder."""
        place = Location.of(folder)
        if (known := place.read(METRICS_FILE)) is not None:
            return dict(json.loads(known))
        if place.local is not None:
            place.local.mkdir(parents=True, exist_ok=True)
        put_components(place, Location.of(self.shared), self._is_taken_over)
        recipe = self.recipe(params, place.name)
        if not self.gpus:
            import torch  # only here: a sweep of trainings is checked and listed without it

            torch.set_num_threads(max(1, int(self.cpus)))
        corpus = Corpus.open(fetch_local(str(self.corpus)))
        with open_session(recipe, corpus, folder, self._launch_options(recipe, folder)) as session:
            trained = session.train(ProgressFunctions(log=report))
        metrics = {name: float(value) for name, value in trained.metrics.items() if math.isfinite(value)}
        if "seconds" in trained.details:
            metrics["seconds"] = float(trained.details["seconds"])
        place.write(METRICS_FILE, json.dumps(metrics) + "\n")
        return metrics

    def _is_taken_over(self, component: str) -> bool:
        """Whether a trial begins with a component: not with what it trains, nor with what builds on that."""
        return component != self.kind and self.kind not in BUILT_ON.get(component, ())

    def _launch_options(self, recipe: Any, folder: Path | str) -> LaunchOptions:
        if not self.uses_engine:
            return LaunchOptions()
        return LaunchOptions(
            start=_start_of(recipe, Location.of(folder)),
            on="ray" if self.workers > 1 else "process",
            wait=True,  # other trials end: resources that are taken now become free
            source=self._source,
        )

    @property
    def _source(self) -> str | None:
        """The corpus' URI, by which workers elsewhere find it; None: they see its path."""
        return str(self.corpus) if "://" in str(self.corpus) else None


def _start_of(recipe: Any, folder: Location) -> Start:
    """How a training of the engine begins in a folder where one may have been interrupted."""
    return "new" if TrainingRun.of(recipe, folder).read_state() is None else "resume"


def _train_shared(
    recipe: Any, options: LaunchOptions, corpus: Corpus, shared: Location, progress: ProgressCallback
) -> dict[str, Any]:
    """Train a recipe into the folder of what trials share, going on with a training that was interrupted there."""
    if KINDS[recipe.kind].uses_engine:
        options = replace(options, start=_start_of(recipe, shared))
    with open_session(recipe, corpus, shared.uri, options) as session:
        session.train(progress)
    return {}

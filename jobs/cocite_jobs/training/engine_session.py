"""Trainings of the kinds that the training engine trains: on Ray's workers, in this process, or under torchrun."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import CociteError, ConfigError
from cocite.training.engine.wishes import Wishes
from cocite.training.engine.world import World
from cocite_jobs.cluster.connection import joins_cluster, ray_connection
from cocite_jobs.cluster.resources import check_batch, worker_range
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import check_output_replaceable, training_lock
from cocite_jobs.training.inputs import InParts, check_periods, check_trained_on, prepare_inputs
from cocite_jobs.training.progress import ProgressCallback, ProgressReceiver
from cocite_jobs.training.registry import KINDS, load_object
from cocite_jobs.training.training_run import TrainingRun, TrainingState, temporary_model
from cocite_jobs.training.types import LaunchOptions, TrainedArtifact, TrainingJob
from cocite_jobs.training.worker import run_worker


@contextmanager
def open_engine_session(
    recipe: Any, corpus: Corpus, to: str | Path, options: LaunchOptions
) -> Iterator[EngineSession]:
    """Open a session for a kind that the training engine trains.

    Under torchrun every process opens one. Rank 0 takes the locks and writes the state; all ranks raise what it raises.

    Args:
        recipe: of a kind with a task.
        corpus: to train on.
        to: model folder, a path or a URI.
        options: how and where.

    Raises:
        ConfigError: the recipe's workers and its backend or its batch do not go together.
        NotFoundError: the recipe's pretrained encoder is neither a folder nor a model of a hub that answers.
        InputError: an earlier training's model or checkpoints forbid it, there is nothing to resume, the model folder
            lacks what the kind is trained on, or the corpus has no links to train on or no dev queries.
        BusyError: another process trains there.
    """
    if options.on is None:
        alone = recipe.workers.count == 0 or "WORLD_SIZE" in os.environ
        options = dataclasses.replace(options, on="process" if alone else "ray")
    in_process = options.on == "process"
    world = World()
    if in_process:
        world = World.join(timeout=recipe.workers.timeout, use_gpu=recipe.workers.gpus != 0)
    most = world.size if in_process else worker_range(recipe.workers)[1]
    check_batch(recipe, most)
    recipe = resolve_backend(recipe, most)
    location, kind = Location.of(to), str(recipe.kind)
    check_output_replaceable(location / kind)
    run = TrainingRun.of(recipe, location)

    state: TrainingState | None = None
    failure: CociteError | None = None
    with ExitStack() as stack:
        if world.first:
            try:
                stack.enter_context(training_lock(location, kind))
                stack.enter_context(run.lock())
                # The task refuses the same, but builds after the state is written, which would be left behind.
                check_trained_on(kind, location)
                check_periods(recipe, corpus)
                _require_encoder(recipe, options)
                state = run.begin(recipe, corpus, options.start)
            except CociteError as error:
                failure = error
        # Ranks that raised nothing would go on to train, and wait for rank 0 for ever.
        state, failure = world.agree((state, failure))
        if failure is not None or state is None:
            raise failure or CociteError("the training could not begin", where=run.location.uri)
        job = TrainingJob(
            recipe_class=KINDS[kind].recipe,
            task=KINDS[kind].task or "",
            recipe=recipe.model_dump(mode="json"),
            corpus=options.source or str(corpus.path.absolute()),
            to=location.uri,
            fingerprint=state.fingerprint,
        )
        yield EngineSession(recipe, corpus, job, run, state, options, world)


class EngineSession:
    """A :class:`~cocite_jobs.training.types.TrainingSession` of a kind that the training engine trains.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> recipe, corpus = load_recipe("hatten", ["workers.count=0"]), starter_corpus()
        >>> with tempfile.TemporaryDirectory() as to:
        ...     with open_engine_session(recipe, corpus, to, LaunchOptions()) as session:
        ...         session.options.on, session.run.read_state() == session.state
        ('process', True)
    """

    def __init__(
        self,
        recipe: Any,
        corpus: Corpus,
        job: TrainingJob,
        run: TrainingRun,
        state: TrainingState,
        options: LaunchOptions,
        world: World,
    ) -> None:
        self.recipe, self.corpus, self.job, self.run = recipe, corpus, job, run
        self.state, self.options, self.world = state, options, world

    @property
    def is_first(self) -> bool:
        """Whether this process reports for all that train together: rank 0 under torchrun."""
        return self.world.first

    @property
    def mlflow_run(self) -> str:
        """Id of the MLflow run of the part that was trained before; empty: none."""
        return self.state.mlflow

    def set_mlflow_run(self, id_: str) -> None:
        """Record the MLflow run in the training's state, so that a resumed training continues it."""
        if id_ and id_ != self.state.mlflow:
            self.state = dataclasses.replace(self.state, mlflow=id_)
            self.run.write_state(self.state)

    def train(self, progress: ProgressCallback) -> TrainedArtifact:
        """Train, and publish the model in the model folder."""
        kind = str(self.recipe.kind)
        location = Location.of(self.job.to)
        with self._cluster(progress) as is_joined:
            if self.is_first:
                self._prepare_inputs(location, progress, on_ray=is_joined)
            self.world.barrier()
            result = self._train(ProgressReceiver(progress, kind))
            if self.is_first:
                progress.stage("fetching the model", 0)
                self.run.publish_model(
                    location / kind,
                    self.state,
                    lambda artifact: self._more_meta(artifact, progress, on_ray=is_joined),
                )
        self.world.barrier()
        details = {
            "steps": result["steps"],
            "best_step": result["best_step"],
            "ended": result["reason"],
            "seconds": result["seconds"],
            "tokens": result["tokens"],
        }
        artifact = location / kind
        uri = None if artifact.local is not None else artifact.uri
        return TrainedArtifact(fetch_local(artifact.uri), result["best"], details, uri)

    @contextmanager
    def _cluster(self, progress: ProgressCallback) -> Iterator[bool]:
        """One connection for all that workers do, to the cluster that the training joins; gives whether it joins one.

        A private Ray is started for the workers alone: this process makes inputs, and compares the trained model.
        """
        if self.options.on != "ray" or not joins_cluster(self.options.address):
            yield False
            return
        progress.stage("starting Ray", 0)
        with ray_connection(self.options.address, verbose=self.options.verbose):
            yield True

    def _prepare_inputs(self, to: Location, progress: ProgressCallback, *, on_ray: bool) -> None:
        """Make what the kind is trained on besides the corpus: a worker of the cluster makes it, or this process."""
        options = self.options
        workers = Workers("ray", options.address, wait=options.wait, verbose=options.verbose)
        in_parts = InParts(self.job.corpus, workers)
        if on_ray:
            from cocite_jobs.training.inputs_on_ray import prepare_inputs_on_ray
            from cocite_jobs.training.on_ray import place_workers

            place_workers(self.recipe.workers, wait=options.wait)  # refused before anything is made
            prepare_inputs_on_ray(self.recipe, self.corpus, to, progress, in_parts)
        else:
            divided = in_parts if options.on == "ray" else None
            prepare_inputs(self.recipe, self.corpus, to, progress, divided)

    def _train(self, receiver: ProgressReceiver) -> dict[str, Any]:
        """Have the workers train, or train in this process."""
        if self.options.on == "ray":
            from cocite_jobs.training.on_ray import train_on_ray

            return train_on_ray(
                self.job,
                self.recipe.workers,
                receiver.receive,
                address=self.options.address,
                wait=self.options.wait,
                verbose=self.options.verbose,
            )
        wishes = Wishes()
        with wishes.on_sigterm():
            return run_worker(self.job, self.world, receiver.receive, wishes=wishes)

    def _more_meta(self, artifact: Path, progress: ProgressCallback, *, on_ray: bool) -> dict[str, Any]:
        """The entries that the kind's ``after`` function adds to the manifest of the trained model.

        A worker of the cluster calls the function, or this process.
        """
        if KINDS[str(self.recipe.kind)].after is None:
            return {}
        to = Location.of(self.job.to)
        if not on_ray:
            return _after_training(self.recipe, self.corpus, to, artifact, progress)
        from cocite_jobs.training.worker_task import WorkerTask, run_on_worker

        task = WorkerTask(
            partial(_after_training_on_worker, self.recipe, self.run.model),
            doing="comparing the trained model",
            again="pass --resume to go on from the last checkpoint",
            mark=f".{self.recipe.kind}.after",
            workers=self.recipe.workers,
            wait=self.options.wait,
        )
        return run_on_worker(task, self.corpus, self.job.corpus, to, progress)


def _after_training(
    recipe: Any, corpus: Corpus, to: Location, artifact: Path, progress: ProgressCallback
) -> dict[str, Any]:
    """Call the ``after`` function of a kind that has one.

    Args:
        recipe: that was trained.
        corpus: it was trained on.
        to: the model folder.
        artifact: the trained model's folder.
        progress: called while the function runs.

    Returns:
        Entries to add to ``meta`` of the artifact's manifest.
    """
    after = load_object(KINDS[str(recipe.kind)].after or "")
    return dict(after(recipe, corpus, fetch_local(to.uri), artifact, progress.stage))


def _after_training_on_worker(
    recipe: Any, model: Location, corpus: Corpus, to: Location, progress: ProgressCallback
) -> dict[str, Any]:
    """The same in a task's process, which fetches the trained model from where the workers left it."""
    with temporary_model() as artifact:
        model.get(artifact)
        return _after_training(recipe, corpus, to, artifact, progress)


def _require_encoder(recipe: Any, options: LaunchOptions) -> None:
    """Refuse a pretrained encoder that is not available here, before inputs are prepared and Ray is started.

    Raises:
        NotFoundError: neither a folder nor a model of a hub that answers.
    """
    name = getattr(recipe, "encoder", None)
    is_elsewhere = options.on == "ray" and (options.address is not None or "RAY_ADDRESS" in os.environ)
    if isinstance(name, str) and not is_elsewhere and not Path(name).is_dir():
        from cocite.nn.hub import must_be_cached

        must_be_cached(name)


def resolve_backend(recipe: Any, workers: int) -> Any:
    """The recipe with a backend that can train on so many workers: ``ddp`` unless one was chosen.

    Raises:
        ConfigError: the recipe names the backend ``plain``, which trains on one.

    Example:
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> recipe = load_recipe("hatten")
        >>> [resolve_backend(recipe, workers).training.backend for workers in (1, 2)]
        ['plain', 'ddp']
    """
    if workers < 2 or recipe.training.backend != "plain":
        return recipe
    if "backend" in recipe.training.model_fields_set:
        raise ConfigError(
            f"backend: plain trains on one worker, and there are {workers}",
            where="training.backend",
            hint="set it to ddp or deepspeed, or leave it out",
        )
    training = recipe.training.model_copy(update={"backend": "ddp"})
    return recipe.model_copy(update={"training": training})

"""Trainings of the kinds that have a trainer of their own: they run in this process, without the training engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.write_errors import writing_to
from cocite_jobs.retrieval.opened_index import SearchPlace
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import check_output_replaceable, training_lock
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.registry import KINDS, load_object
from cocite_jobs.training.types import InProcessTrainer, LaunchOptions, TrainedArtifact


@contextmanager
def open_in_process_session(
    recipe: Any, corpus: Corpus, to: str | Path, options: LaunchOptions
) -> Iterator[InProcessSession]:
    """Open a session for a kind with a trainer of its own: see :func:`cocite_jobs.training.train.open_session`.

    Such a trainer writes nothing but its artifact, which is published whole or not at all. So an unfinished training
    leaves nothing to discard, and ``fresh`` does the same as ``new``.
    """
    kind = str(recipe.kind)
    if options.on == "ray" or options.address is not None:
        if not KINDS[kind].searches:
            raise InputError(
                f"{kind} trains in this process", where="--on", hint="leave --on and --address out"
            )
        if options.on != "ray":
            raise InputError("goes with --on ray", where="--address")
        if recipe.index is None:
            raise InputError(
                "the shards of an index are searched on Ray", where="--on", hint="set index=INDEX"
            )
    location, folder = Location.of(to), fetch_local(to)
    check_output_replaceable(location / kind)
    if options.start == "resume":
        raise NotFoundError("holds no training to go on with", where=str(to), hint="leave --resume out")
    with training_lock(location, kind):
        yield InProcessSession(recipe, corpus, location, folder, options)


class InProcessSession:
    """A :class:`~cocite_jobs.training.types.TrainingSession` of a kind with a trainer of its own.

    Attributes:
        is_first: True; no other process trains along.
        mlflow_run: empty: there is no checkpoint to continue from, so each training starts an MLflow run of its own.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> recipe, corpus = load_recipe("nnselect"), starter_corpus()
        >>> with tempfile.TemporaryDirectory() as to:
        ...     with open_in_process_session(recipe, corpus, to, LaunchOptions()) as session:
        ...         [path.name for path in session.folder.iterdir()]
        ['.nnselect.training.lock']
    """

    is_first, mlflow_run = True, ""

    def __init__(
        self, recipe: Any, corpus: Corpus, location: Location, folder: Path, options: LaunchOptions
    ) -> None:
        self.recipe, self.corpus, self.location, self.folder = recipe, corpus, location, folder
        self.options = options

    def set_mlflow_run(self, id_: str) -> None:
        """Do nothing: see :attr:`mlflow_run`."""

    def train(self, progress: ProgressCallback) -> TrainedArtifact:
        """Train into the local folder, and upload the artifact where the model folder is elsewhere."""
        trainer: InProcessTrainer = load_object(KINDS[str(self.recipe.kind)].trainer or "")
        with writing_to(self.folder):
            on_ray = {"place": SearchPlace("ray", self.options.address)} if self.options.on == "ray" else {}
            trained = trainer(self.recipe, self.corpus, self.folder, progress, **on_ray)
        if self.location.local is None:
            artifact = self.location / trained.folder.name
            artifact.put(trained.folder)
            return dataclasses.replace(trained, uri=artifact.uri)
        return trained

"""Training that goes on where an earlier call was stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite_jobs.storage.location import Location
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.registry import KINDS
from cocite_jobs.training.train import open_session
from cocite_jobs.training.training_run import TrainingRun
from cocite_jobs.training.types import LaunchOptions, TrainedArtifact


def train_or_resume(
    recipe: Any,
    corpus: Corpus,
    to: Path,
    progress: ProgressCallback,
    options: LaunchOptions | None = None,
) -> TrainedArtifact:
    """Train a recipe, or resume the training of it that an earlier call began.

    Args:
        recipe: of any kind.
        corpus: to train on.
        to: model folder.
        progress: called while the training runs.
        options: how and where; its ``start`` holds where there is nothing to resume.

    Raises:
        CociteError: as of :func:`~cocite_jobs.training.train.open_session`; the folder may hold a training of another
            recipe that was not finished.
    """
    options = options or LaunchOptions()
    if KINDS[recipe.kind].uses_engine:
        state = TrainingRun.of(recipe, Location.of(to)).read_state()
        if state is not None and not state.finished:
            options = replace(options, start="resume")
    with open_session(recipe, corpus, to, options) as session:
        return session.train(progress)

"""Training: a recipe and a corpus in, an artifact in the model folder out.

What can be trained is in the registry, :data:`cocite_jobs.training.registry.KINDS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.destinations import check_folder_destination
from cocite_jobs.storage.location import Location
from cocite_jobs.training.progress import ProgressCallback, ProgressFunctions
from cocite_jobs.training.registry import KINDS
from cocite_jobs.training.types import LaunchOptions, TrainedArtifact, TrainingSession


def train(
    recipe: Settings,
    corpus: Corpus,
    to: str | Path,
    progress: ProgressCallback | None = None,
    *,
    fresh: bool = False,
) -> TrainedArtifact:
    """Train a recipe of any kind.

    Args:
        recipe: what to train.
        corpus: to train on.
        to: model folder, a path or a URI.
        progress: called while the training runs.
        fresh: discard what an unfinished training has left.

    Returns:
        The artifact, its dev metrics, and details of the training.

    Raises:
        CociteError: see :func:`open_session`.
    """
    with open_session(recipe, corpus, to, LaunchOptions(start="fresh" if fresh else "new")) as session:
        return session.train(progress or ProgressFunctions())


@contextmanager
def open_session(
    recipe: Settings, corpus: Corpus, to: str | Path, options: LaunchOptions
) -> Iterator[TrainingSession]:
    """Open a training session, and refuse what can be refused before anything is started.

    The session keeps other processes of this machine from training the same kind into the same folder.

    Args:
        recipe: of any kind.
        corpus: to train on.
        to: model folder, a path or a URI.
        options: how and where.

    Raises:
        InputError: the options do not fit the kind, or the artifacts or checkpoints in the folder forbid it.
        BusyError: another process trains this kind into this folder.
        CociteError: the folder cannot be written.
    """
    kind = str(recipe.kind)  # type: ignore[attr-defined]
    check_folder_destination(Location.of(to).local)
    if KINDS[kind].uses_engine:
        # Importing torch takes seconds, which kinds without the engine need not wait for.
        from cocite_jobs.training.engine_session import open_engine_session

        with open_engine_session(recipe, corpus, to, options) as session:
            yield session
    else:
        from cocite_jobs.training.in_process import open_in_process_session

        with open_in_process_session(recipe, corpus, to, options) as trainer_session:
            yield trainer_session

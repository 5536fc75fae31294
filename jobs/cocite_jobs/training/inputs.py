"""Checks what a kind is trained on, and makes the artifacts that it needs before the workers start."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.manifests import MANIFEST
from cocite.training.input_artifacts import determining_settings
from cocite.training.periods import Periods
from cocite_jobs.storage.location import Location
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.registry import KINDS, load_object


def prepare_inputs(recipe: Any, corpus: Corpus, to: Location, progress: ProgressCallback) -> bool:
    """Make the artifacts that a recipe's training needs, except those that the model folder has already.

    The manifest of an artifact names the corpus version and the settings that it was made of; one made of others is
    replaced.

    Args:
        recipe: of any kind.
        corpus: the source of the artifacts.
        to: the model folder.
        progress: called while they are made.

    Returns:
        Whether any was made.
    """
    made = False
    with tempfile.TemporaryDirectory(prefix="cocite-prepared-") as temporary:
        # Artifacts of a folder elsewhere are made in the temporary one, and uploaded.
        work = to.local or Path(temporary)
        for needed in KINDS[recipe.kind].inputs:
            settings, artifact = getattr(recipe, needed.section), to / needed.artifact
            if settings is None:
                continue
            if _is_made_of(artifact, {"corpus": corpus.version, "settings": determining_settings(settings)}):
                continue
            for name in needed.made_of:
                if not (work / name).is_dir():
                    (to / name).get(work / name)
            folder = work / needed.artifact
            load_object(needed.maker)(
                settings, corpus, folder, stage=progress.stage, advance=progress.advance
            )
            if to.local is None:
                artifact.put(folder)
            made = True
    return made


def check_trained_on(kind: str, to: Location) -> None:
    """Refuse to train a kind into a model folder without the artifacts that it is trained on.

    Args:
        kind: of the recipe.
        to: the model folder.

    Raises:
        InputError: one of them is missing.
    """
    for name in KINDS[kind].trained_on:
        if (to / name).read(MANIFEST) is None:
            raise InputError(
                f"holds no {name}, which {kind} is trained on",
                where=to.uri,
                hint=f"train {name} into it first",
            )


def check_periods(recipe: Any, corpus: Corpus) -> None:
    """Refuse a corpus that has no links to train on, or no dev queries.

    Args:
        recipe: of any kind. Its settings of the periods lie in the section of its first input, where it has one.
        corpus: to train on.

    Raises:
        InputError: see :meth:`cocite.training.periods.Periods.of`.
    """
    needed = KINDS[recipe.kind].inputs
    period = getattr(getattr(recipe, needed[0].section) if needed else recipe, "period", None)
    if period is not None:
        Periods.of(corpus, period)


def _is_made_of(artifact: Location, meta: dict[str, Any]) -> bool:
    """Whether there is an artifact whose manifest has these entries."""
    try:
        known = json.loads(artifact.read(MANIFEST) or b"{}").get("meta", {})
    except (ValueError, AttributeError):
        return False
    return all(known.get(key) == value for key, value in meta.items())

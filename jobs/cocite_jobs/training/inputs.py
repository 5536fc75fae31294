"""Checks what a kind is trained on, and makes the artifacts that it needs before the workers start."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.manifests import MANIFEST
from cocite.training.input_artifacts import component_digests, determining_settings
from cocite.training.periods import Periods
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import fetch
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.registry import KINDS, load_object


@dataclass(frozen=True)
class InParts:
    """How inputs are made by several workers.

    Attributes:
        source: path or URI under which they find the corpus.
        workers: who they are.

    Example:
        >>> InParts("s3://data/corpus", Workers(on="ray")).workers.cpus
        1.0
    """

    source: str
    workers: Workers


def prepare_inputs(
    recipe: Any, corpus: Corpus, to: Location, progress: ProgressCallback, in_parts: InParts | None = None
) -> bool:
    """Make the artifacts that a recipe's training needs, except those that the model folder has already.

    The manifest of an artifact names the corpus version and the settings that it was made of; one made of others is
    replaced.

    Args:
        recipe: of any kind.
        corpus: the source of the artifacts.
        to: the model folder.
        progress: called while they are made.
        in_parts: who makes those that can be divided; None: this process makes all.

    Returns:
        Whether any was made.
    """
    made: set[str] = set()
    # All are asked for first: where an encoder is missing, nothing is made in vain.
    needs = [(needed, getattr(recipe, needed.section)) for needed in KINDS[recipe.kind].inputs]
    with tempfile.TemporaryDirectory(prefix="cocite-prepared-") as temporary:
        # Artifacts of a folder elsewhere are made in the temporary one, and uploaded.
        work = to.local or Path(temporary)
        for needed, settings in needs:
            if settings is None:
                continue
            components: tuple[str, ...] = getattr(settings, "components", ())
            for name in components:
                if to.local is None and not (work / name).is_dir():
                    (to / name).get(work / name)
            artifact = to / needed.artifact
            wanted = {"corpus": corpus.version, "settings": determining_settings(settings)}
            wanted |= component_digests(settings, work)
            # What was made of an artifact that has just been replaced is asked by its maker, which compares more.
            if made.isdisjoint(needed.made_of) and _is_made_of(artifact, wanted):
                continue
            for name in needed.made_of:
                if not (work / name).is_dir():
                    (to / name).get(work / name)
            folder = work / needed.artifact
            told: dict[str, Any] = {"stage": progress.stage, "advance": progress.advance}
            index: str | None = getattr(settings, "index", None)
            # An encoder of the model folder searches in this process alone.
            if in_parts is not None and needed.in_parts is not None and index is not None and not components:
                make = load_object(needed.in_parts)
                told |= {"source": in_parts.source, "root": to, "workers": in_parts.workers}
            else:
                make = load_object(needed.maker)
                if index is not None:
                    settings = settings.model_copy(update={"index": str(fetch(index))})
            make(settings, corpus, folder, **told)
            if to.local is None:
                artifact.put(folder)
            made.add(needed.artifact)
    return bool(made)


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
        recipe: of any kind. Its settings of the periods are its own, or lie in the section of its first input.
        corpus: to train on.

    Raises:
        InputError: see :meth:`cocite.training.periods.Periods.of`.
    """
    needed = KINDS[recipe.kind].inputs
    period = getattr(recipe, "period", None)
    if period is None and needed:
        period = getattr(getattr(recipe, needed[0].section), "period", None)
    if period is not None:
        Periods.of(corpus, period)


def _is_made_of(artifact: Location, meta: dict[str, Any]) -> bool:
    """Whether there is an artifact whose manifest has these entries."""
    try:
        known = json.loads(artifact.read(MANIFEST) or b"{}").get("meta", {})
    except (ValueError, AttributeError):
        return False
    return all(known.get(key) == value for key, value in meta.items())

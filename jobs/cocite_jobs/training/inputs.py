"""Checks what a kind is trained on, and makes the artifacts that it needs before the workers start."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import MANIFEST
from cocite.training.input_artifacts import component_digests, determining_settings
from cocite.training.periods import Periods
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import fetch
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.registry import KINDS, PreparedInput, load_object


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


@dataclass(frozen=True)
class NeededInput:
    """An artifact that the training of a recipe needs.

    Attributes:
        prepared: its name and its makers.
        settings: that determine it.

    Example:
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> recipe = load_recipe("cross-encoder-small", ["candidates.retriever=bm25", "candidates.index=index"])
        >>> NeededInput(KINDS["cross-encoder"].inputs[0], recipe.candidates).is_divided(Location.of("model"))
        True
    """

    prepared: PreparedInput
    settings: Any

    @property
    def components(self) -> tuple[str, ...]:
        """Artifacts of the model folder that it is made by."""
        return getattr(self.settings, "components", ())

    def is_divided(self, to: Location) -> bool:
        """Whether Ray's tasks make it side by side.

        They share an index, so the settings name one; and what encoders of the model folder find is divided where that
        index holds their vectors.

        Args:
            to: the model folder, which holds the encoders.

        Raises:
            NotFoundError: an encoder or the index is missing.
        """
        if self.prepared.in_parts is None or getattr(self.settings, "index", None) is None:
            return False
        if not self.components:
            return True
        if self.prepared.divided_if is None:
            return False
        with self.manifests(to) as folder:
            return bool(load_object(self.prepared.divided_if)(self.settings, folder))

    @contextmanager
    def manifests(self, to: Location) -> Iterator[Path]:
        """A folder with the components' manifests: the model folder, or while the block runs a temporary one.

        Raises:
            NotFoundError: the model folder is elsewhere and lacks a component.
        """
        if to.local is not None:
            yield to.local
            return
        with tempfile.TemporaryDirectory(prefix="cocite-manifests-") as temporary:
            for name in self.components:
                manifest = (to / name).read(MANIFEST)
                if manifest is None:
                    raise NotFoundError(f"holds no {MANIFEST}", where=(to / name).uri)
                Path(temporary, name).mkdir()
                Path(temporary, name, MANIFEST).write_bytes(manifest)
            yield Path(temporary)


def needed_inputs(recipe: Any) -> list[NeededInput]:
    """The artifacts that a recipe's training needs, in the order in which they are made.

    Args:
        recipe: of any kind.

    Raises:
        NotFoundError: an encoder that determines one is missing.

    Example:
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> [need.prepared.artifact for need in needed_inputs(load_recipe("hatten", ["words.source=random"]))]
        ['hatten-texts']
    """
    found = [(each, getattr(recipe, each.section)) for each in KINDS[recipe.kind].inputs]
    return [NeededInput(each, settings) for each, settings in found if settings is not None]


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
    # All are asked for first: where an encoder is missing, nothing is made in vain.
    return bool(make_inputs(needed_inputs(recipe), corpus, to, progress, in_parts=in_parts))


def make_inputs(
    needs: Sequence[NeededInput],
    corpus: Corpus,
    to: Location,
    progress: ProgressCallback,
    *,
    replaced: Collection[str] = (),
    in_parts: InParts | None = None,
) -> set[str]:
    """Make those of some inputs that the model folder does not have.

    Args:
        needs: the inputs, each after those that it is made of.
        corpus: the source of the artifacts.
        to: the model folder.
        progress: called while they are made.
        replaced: names of inputs that were made just before.
        in_parts: who makes those that can be divided; None: this process makes all.

    Returns:
        Names of those that were made.
    """
    made: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="cocite-prepared-") as temporary:
        # Artifacts of a folder elsewhere are made in the temporary one, and uploaded.
        work = to.local or Path(temporary)
        for need in needs:
            if _is_there(need, corpus.version, to, made.union(replaced)):
                continue
            for name in (*need.components, *need.prepared.made_of):
                if not (work / name).is_dir():
                    (to / name).get(work / name)
            folder, settings = work / need.prepared.artifact, need.settings
            told: dict[str, Any] = {"stage": progress.stage, "advance": progress.advance}
            if in_parts is not None and need.is_divided(to):
                make = load_object(need.prepared.in_parts or "")
                # Encoders read queries on GPUs, where the cluster has any.
                workers = replace(in_parts.workers, gpus=None) if need.components else in_parts.workers
                told |= {"source": in_parts.source, "root": to, "workers": workers}
            else:
                make = load_object(need.prepared.maker)
                if (index := getattr(settings, "index", None)) is not None:
                    settings = settings.model_copy(update={"index": str(fetch(index))})
            make(settings, corpus, folder, **told)
            if to.local is None:
                (to / need.prepared.artifact).put(folder)
            made.add(need.prepared.artifact)
    return made


def are_there(
    needs: Sequence[NeededInput], corpus: str, to: Location, replaced: Collection[str] = ()
) -> bool:
    """Whether the model folder has all of some inputs; no artifact is read for it, and of none more than the manifest.

    Args:
        needs: the inputs.
        corpus: version of the corpus that they are to be of.
        to: the model folder.
        replaced: names of inputs that were made just before: what is made of them counts as missing.
    """
    return all(_is_there(need, corpus, to, replaced) for need in needs)


def _is_there(need: NeededInput, corpus: str, to: Location, replaced: Collection[str]) -> bool:
    """Whether the model folder has an input of this corpus and these settings.

    What was made of an artifact that has just been replaced is asked by its maker, which compares more.
    """
    if not set(need.prepared.made_of).isdisjoint(replaced):
        return False
    wanted = {"corpus": corpus, "settings": determining_settings(need.settings)}
    with need.manifests(to) as folder:
        wanted |= component_digests(need.settings, folder)
    return _is_made_of(to / need.prepared.artifact, wanted)


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

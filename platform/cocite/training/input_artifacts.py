"""Artifacts of the model folder that a kind is trained on besides the corpus: candidates, texts, sentences."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import Manifest


def find_input(model_folder: Path, kind: str, *, lacking: str) -> Path:
    """The folder of an input in a model folder.

    Args:
        model_folder: holds it.
        kind: of the artifact, which is its name too.
        lacking: what the model folder lacks without it: ``candidates to train on``.

    Raises:
        NotFoundError: the model folder does not hold it.
    """
    folder = Path(model_folder) / kind
    if not folder.is_dir():
        raise NotFoundError(
            f"holds no {lacking}", where=str(model_folder), hint="train with `cocite train`, which makes them"
        )
    return folder


def determining_settings(settings: Settings) -> dict[str, Any]:
    """The settings that determine an input; the index that its making may read word counts from is none of them.

    Example:
        >>> from cocite.training.candidates import CandidateSettings
        >>> determining_settings(CandidateSettings(index="index")) == determining_settings(CandidateSettings())
        True
    """
    return settings.model_dump(mode="json", exclude={"index"})


def check_same_inputs(
    manifest: Manifest,
    corpus: Corpus,
    settings: Settings,
    folder: Path,
    *,
    what: str,
    besides: Collection[str] = (),
) -> None:
    """Refuse an input that was made of another corpus, or with other settings, than those of the training.

    Args:
        manifest: of the input, verified.
        corpus: that is trained on.
        settings: of the training's input.
        folder: of the input.
        what: it holds, in the plural: ``texts``.
        besides: names of settings that are not compared.

    Raises:
        InputError: it was made of others.
    """
    check_same_corpus(manifest, corpus, folder, what=what)
    theirs, ours = dict(manifest.meta.get("settings", {})), determining_settings(settings)
    if any(theirs.get(name) != value for name, value in ours.items() if name not in besides):
        raise InputError(
            f"the {what} were made with other settings",
            where=str(folder),
            hint="train with `cocite train`, which makes them anew",
        )


def check_same_corpus(manifest: Manifest, corpus: Corpus, folder: Path, *, what: str) -> None:
    """Refuse an input that was made of another corpus than the one that is trained on.

    Args:
        manifest: of the input, verified.
        corpus: that is trained on.
        folder: of the input.
        what: it holds, in the plural: ``candidates``.

    Raises:
        InputError: it was made of another corpus.
    """
    if manifest.meta.get("corpus") != corpus.version:
        raise InputError(
            f"the {what} are of another corpus", where=str(folder), hint="remove them, to be made anew"
        )

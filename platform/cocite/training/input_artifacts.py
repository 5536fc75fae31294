"""Artifacts of the model folder that a kind is trained on besides the corpus: candidates, texts, sentences, tokens.

They are made once, before workers start, and workers map their arrays into memory. The manifest of each names the
corpus and the settings that it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from cocite.artifacts import publish
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import Manifest, holds, read_manifest
from cocite.verification import open_verified_once

Stage = Callable[[str, int], object]
"""Receives the name of a step of the making as it begins, and its size."""
Advance = Callable[[int], object]
"""Receives how much of the step was just done."""


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


def make_input(
    kind: str,
    settings: Settings,
    corpus: Corpus,
    folder: Path,
    write: Callable[[Path], Mapping[str, Any] | None],
    *,
    more: Mapping[str, Any] | None = None,
) -> bool:
    """Make an input, unless the folder already holds that of this corpus and these settings.

    Args:
        kind: of the artifact.
        settings: that determine it.
        corpus: that it is made of.
        folder: the artifact's folder.
        write: writes the files into the temporary folder that it is called with; returns what else describes them, as
            entries of the manifest's ``meta``.
        more: what else determines it, as entries of the manifest's ``meta``.

    Returns:
        Whether it was made.
    """
    meta = {"corpus": corpus.version, "settings": determining_settings(settings), **(more or {})}
    if holds(folder, kind=kind, meta=meta):
        return False
    with publish(folder, kind=kind, meta=meta, replace=folder.exists()) as temporary:
        meta |= write(temporary) or {}
    return True


def open_input(
    folder: Path,
    kind: str,
    corpus: Corpus,
    *,
    what: str,
    settings: Settings | None = None,
    besides: Collection[str] = (),
) -> Manifest:
    """Verify an input, and refuse one of another corpus, or of other settings, than those of the training.

    Args:
        folder: of the input.
        kind: of the artifact.
        corpus: that is trained on.
        what: it holds, in the plural: ``texts``.
        settings: of the training's input; None: they are not compared.
        besides: names of settings that are not compared.

    Raises:
        InputError: it was made of others.
        IntegrityError: it is damaged.
    """
    manifest = open_verified_once(folder, kind=kind)
    if manifest.meta.get("corpus") != corpus.version:
        raise InputError(
            f"the {what} are of another corpus", where=str(folder), hint="remove them, to be made anew"
        )
    theirs = dict(manifest.meta.get("settings", {}))
    ours = determining_settings(settings) if settings is not None else {}
    if any(theirs.get(name) != value for name, value in ours.items() if name not in besides):
        raise InputError(
            f"the {what} were made with other settings",
            where=str(folder),
            hint="train with `cocite train`, which makes them anew",
        )
    return manifest


def component_digests(settings: Settings, model_folder: Path) -> dict[str, Any]:
    """Fingerprints of the model folder's components that an input is made by: an entry of its manifest's ``meta``.

    Args:
        settings: of the input; its ``components``, where it has them, are their names. Settings that name encoders
            outside the model folder too have a method ``fingerprints`` instead.
        model_folder: holds them.

    Raises:
        NotFoundError: the model folder lacks one.

    Example:
        >>> from cocite.training.candidates import CandidateSettings
        >>> component_digests(CandidateSettings(retriever="bm25"), Path("model"))
        {}
    """
    fingerprints: Callable[[Path], dict[str, str]] | None = getattr(settings, "fingerprints", None)
    if fingerprints is not None:
        found = fingerprints(model_folder)
        return {"components": found} if found else {}
    names: Collection[str] = getattr(settings, "components", ())
    for name in names:
        if not (model_folder / name).is_dir():
            raise NotFoundError(
                f"holds no {name}, which is to find the candidates",
                where=str(model_folder),
                hint=f"train it into this folder first: cocite train {name} …",
            )
    digests = {name: read_manifest(model_folder / name).digest for name in names}
    return {"components": digests} if digests else {}


def determining_settings(settings: Settings) -> dict[str, Any]:
    """The settings that determine an input; the index that its making may read word counts from is none of them.

    Example:
        >>> from cocite.training.candidates import CandidateSettings
        >>> determining_settings(CandidateSettings(index="index")) == determining_settings(CandidateSettings())
        True
    """
    return settings.model_dump(mode="json", exclude={"index"})

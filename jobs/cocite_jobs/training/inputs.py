"""What some kinds are trained on besides the corpus: an artifact of the model folder, made before the workers start."""

from __future__ import annotations

import importlib
import json
import tempfile
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.manifests import MANIFEST
from cocite_jobs.storage.location import Place
from cocite_jobs.training.train import Report

NEEDS: dict[str, tuple[str, str, str]] = {
    "cross-encoder": ("candidates", "candidates", "cocite.pipeline.candidate_files:prepare"),
    "masked-lm": ("texts", "pretraining-texts", "cocite.systems.masked_lm.texts:prepare"),
    "mp-bert4cr-pretraining": ("texts", "sentence-texts", "cocite.systems.mp_bert4cr.sentence_texts:prepare"),
    "mp-bert4cr": ("texts", "sentence-texts", "cocite.systems.mp_bert4cr.sentence_texts:prepare"),
}
"""Kind -> (section of the recipe that says what is needed, name of the artifact, ``module:function`` that makes it)."""


def prepare(recipe: Any, corpus: Corpus, to: Place, report: Report) -> bool:
    """Make what a recipe's training needs, unless the model folder holds it already.

    It is told by corpus and settings whether what is there is what is needed; what is not is replaced.

    Args:
        recipe: of any kind.
        corpus: what it is made of.
        to: the model folder.
        report: whom to tell.

    Returns:
        Whether something was made.
    """
    if recipe.kind not in NEEDS:
        return False
    section, name, make = NEEDS[recipe.kind]
    settings, place = getattr(recipe, section), to / name
    if _holds(place, {"corpus": corpus.version, "settings": settings.model_dump(mode="json")}):
        return False
    module, function = make.split(":")
    with tempfile.TemporaryDirectory(prefix="cocite-prepared-") as temporary:
        folder = place.local or Path(temporary, name)
        getattr(importlib.import_module(module), function)(
            settings, corpus, folder, stage=report.stage, advance=report.advance
        )
        if place.local is None:
            place.put(folder)
    return True


def _holds(place: Place, meta: dict[str, Any]) -> bool:
    """Whether an artifact is there that was made so."""
    try:
        known = json.loads(place.read(MANIFEST) or b"{}").get("meta", {})
    except (ValueError, AttributeError):
        return False
    return all(known.get(key) == value for key, value in meta.items())

"""Refuses a trained part of a table that another recipe made: its row would say that it differs in one thing alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cocite.errors import InputError
from cocite.manifests import read_manifest
from cocite_jobs.training.training_run import without_changeable

HINT = "remove it, or give another --model"


def require_same(artifact: Path, recipe: Any) -> None:
    """Refuse an artifact of another recipe.

    What may change when a training is resumed makes no difference: on what it ran, its limit of time, how often it
    evaluated and saved. A budget gives each training another limit, and a later call has another budget or none.

    Args:
        artifact: folder of the trained model.
        recipe: that would train it now.

    Raises:
        InputError: the settings differ.

    Example:
        >>> import tempfile
        >>> from cocite.artifacts import seal
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> recipe = load_recipe("mp-bert4cr-small")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = seal(Path(folder), kind="mp-bert4cr", meta={"recipe": recipe.model_dump(mode="json")})
        ...     require_same(Path(folder), load_recipe("mp-bert4cr-small", ["workers.count=0", "training.minutes=5"]))
    """
    theirs = read_manifest(artifact).meta.get("recipe", {})
    if without_changeable(theirs) != without_changeable(recipe.model_dump(mode="json")):
        raise InputError("was trained with other settings than these", where=str(artifact), hint=HINT)


def require_copy(copy: Path, original: Path) -> None:
    """Refuse a copy of an artifact that has been trained anew since.

    Raises:
        InputError: their files differ.
    """
    if read_manifest(copy).digest != read_manifest(original).digest:
        raise InputError(f"is no copy of {original}, as it is now", where=str(copy), hint=HINT)

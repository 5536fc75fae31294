"""The settings of the study whose trials are trainings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cocite.bounds import FilePath, Location
from cocite.config import Settings
from cocite_tuning.studies.score_settings import Names
from cocite_tuning.sweep.values import Values


class TrainingStudySettings(Settings):
    """Which recipe the trials train, and what every trial begins with.

    Example:
        >>> TrainingStudySettings(recipe="nnrank", before=("nnselect",), set={"training": {"epochs": 2}}).set
        {'training.epochs': 2}
    """

    kind: Literal["training"] = "training"
    recipe: Location
    """Name of a shipped recipe or a path."""
    set: Values = Field(default_factory=dict)
    """Settings of the recipe that every trial has, by dotted name."""
    model: FilePath | None = None
    """A model folder whose components every trial begins with, except those that build on what is trained."""
    before: Names = ()
    """Recipes that are trained once for the sweep, in this order; every trial begins with the resulting components."""

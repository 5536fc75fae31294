from __future__ import annotations

from dataclasses import replace

import pytest

from cocite.artifacts import publish
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.training_step import (
    CHECKPOINT_MINUTES,
    model_facts,
    overrides_of,
    recipe_training,
    run_training,
)
from cocite_jobs.training.recipes import load_recipe


@pytest.mark.parametrize(
    ("recipe", "minutes", "limit"),
    [("nnselect", None, 12), ("nnselect", 3.0, 3), ("nnselect", 30.0, 12), ("nnselect-paper", 30.0, 30)],
)
def test_the_shorter_limit_of_time_holds(
    empty_setup: Setup, recipe: str, minutes: float | None, limit: float
) -> None:
    setup = replace(empty_setup, seed=7)
    settings = load_recipe(recipe, overrides_of(setup, recipe, (), minutes)).training  # type: ignore[attr-defined]
    assert settings.minutes == limit
    assert settings.seed == 7
    assert settings.checkpoint_minutes == CHECKPOINT_MINUTES


def test_a_recipe_that_saves_by_steps_keeps_to_that(empty_setup: Setup) -> None:
    overrides = overrides_of(empty_setup, "hatten", ["training.checkpoint_every=3"], None)
    settings = load_recipe("hatten", overrides).training  # type: ignore[attr-defined]
    assert (settings.checkpoint_every, settings.checkpoint_minutes) == (3, None)


def test_a_recipe_is_trained_into_its_folder_and_its_facts_are_told(empty_setup: Setup) -> None:
    changes = ("model.dimension=8", "training.epochs=1")
    training = recipe_training("select", "nnselect", changes, to="other")
    assert training.artifacts == ("other/nnselect",)
    assert not training.is_done(empty_setup.folder)
    assert run_training(training, empty_setup, None) > 0
    assert training.is_done(empty_setup.folder)
    [facts] = model_facts(empty_setup.folder, training.artifacts)
    assert facts["model"] == "other/nnselect"
    assert facts["seed"] == 0
    assert facts["step"] > 0
    assert len(facts["version"]) >= 8


def test_an_artifact_without_a_recipe_has_no_step(empty_setup: Setup) -> None:
    with publish(empty_setup.folder / "model/old", kind="old", meta={}):
        pass
    [facts] = model_facts(empty_setup.folder, ["model/old"])
    assert (facts["step"], facts["seed"]) == (None, None)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cocite.config import flat
from cocite.errors import ConfigError
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.training_settings import RENAMED, with_new_keys
from cocite_jobs.training.recipes import load_recipe

EARLIER: dict[str, Any] = {
    "loop": {
        "epochs": 4, "patience": 2, "learning_rate": 0.02, "decay": 0.5, "clip": 1.5, "minutes": 7.0, "seed": 3,
    },
    "objective": {"batch": 96, "l2": 0.25},
}  # fmt: skip
"""A recipe as earlier versions wrote it into a manifest."""


@pytest.mark.parametrize("recipe", [NNSelectRecipe, NNRankRecipe])
def test_a_recipe_of_an_earlier_version_is_read(recipe: Any) -> None:
    read = recipe.parse(EARLIER)
    assert (read.training.epochs, read.training.patience, read.training.minutes) == (4, 2, 7.0)
    assert (read.training.batch, read.training.seed, read.training.schedule.plateau) == (96, 3, 0.5)
    assert (read.training.optimizer.learning_rate, read.training.optimizer.clip) == (0.02, 1.5)
    assert read.objective.l2 == 0.25
    assert recipe.parse(read.model_dump(mode="json")) == read


@pytest.mark.parametrize("recipe", [NNSelectRecipe, NNRankRecipe])
def test_every_renamed_key_leads_to_a_setting(recipe: Any) -> None:
    assert set(RENAMED.values()) <= flat(recipe().model_dump()).keys()


def test_an_earlier_recipes_defaults_are_the_present_ones() -> None:
    assert NNSelectRecipe.parse({"loop": {}}) == NNSelectRecipe.parse({"loop": None}) == NNSelectRecipe()


def test_overrides_by_earlier_keys_win_over_the_file() -> None:
    recipe = load_recipe("nnselect", ["loop.epochs=9", "objective.batch=32"])
    assert (recipe.training.epochs, recipe.training.batch) == (9, 32)  # type: ignore[attr-defined]
    assert recipe.training.optimizer.learning_rate == 0.01  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("loop: {epoch: 3}", r"unknown key 'training\.epoch' \(did you mean 'epochs'"),
        ("loop: {epochs: soon}", r"training\.epochs: input should be a valid integer.*got 'soon'"),
        ("loop: 3", "unknown key 'loop'"),
        ("objective: {batch: 0}", r"training\.batch: input should be greater than or equal to 1"),
    ],
)
def test_mistakes_in_an_earlier_recipe_are_named_by_the_present_keys(
    tmp_path: Path, section: str, message: str
) -> None:
    (tmp_path / "recipe.yaml").write_text(f"kind: nnselect\n{section}\n")
    with pytest.raises(ConfigError, match=message):
        load_recipe(str(tmp_path / "recipe.yaml"))


def test_what_is_not_of_an_earlier_version_is_left_as_it_is() -> None:
    data = {"training": {"epochs": 3}, "objective": {"gamma": 1.0}}
    assert with_new_keys(data) is data
    assert with_new_keys("nnselect") == "nnselect"

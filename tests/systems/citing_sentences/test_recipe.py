from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite.systems.citing_sentences.recipe import CitingSentencesRecipe
from cocite_jobs.training.recipes import load_recipe


def test_the_shipped_recipe_has_the_defaults() -> None:
    assert load_recipe("citing-sentences") == CitingSentencesRecipe()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"features": []}, "features"),
        ({"features": ["letters"]}, "features"),
        ({"train": 0}, "train"),
        ({"width": 16}, "width"),
        ({"negatives": -1}, "negatives"),
        ({"feature": ["words"]}, "unknown key 'feature'"),
    ],
)
def test_impossible_settings_are_refused(data: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CitingSentencesRecipe.parse(data, where="recipe.yaml")

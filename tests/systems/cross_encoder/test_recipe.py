"""The recipe of a cross-encoder: which settings fit together."""

from __future__ import annotations

import pytest
from helpers.cross_encoder_recipes import small_recipe

from cocite.errors import ConfigError
from cocite.systems.cross_encoder.recipe import CrossEncoderRecipe, ObjectiveSettings
from cocite_jobs.training.recipes import load_recipe


@pytest.mark.parametrize(
    ("name", "layout", "loss"),
    [
        ("scibert-local", "local", "triplet"),
        ("scibert-global", "global", "pointwise"),
        ("cross-encoder-small", "local", None),
    ],
)
def test_the_shipped_recipes_follow_their_papers(name: str, layout: str, loss: str | None) -> None:
    recipe = load_recipe(name)
    assert isinstance(recipe, CrossEncoderRecipe)
    assert recipe.pairs.layout == recipe.candidates.task == layout
    assert loss is None or recipe.objective.loss == loss


def test_a_group_is_as_wide_as_its_kind_says() -> None:
    assert ObjectiveSettings(negatives=5).width == 6
    assert ObjectiveSettings(candidates="top", top=7).width == 7


def test_settings_that_do_not_fit_together_are_refused() -> None:
    encoder = "bert"
    with pytest.raises(ConfigError, match=r"pairs\.layout: local needs contexts"):
        small_recipe(encoder, candidates={"task": "global"})
    with pytest.raises(ConfigError, match=r"less than objective\.top"):
        small_recipe(encoder, objective={"candidates": "top", "top": 30})
    with pytest.raises(ConfigError, match="unknown key 'objective.negative'"):
        small_recipe(encoder, objective={"negative": 3})

from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite_jobs.training.recipes import load_recipe


def test_the_papers_recipe_has_the_papers_numbers() -> None:
    recipe = load_recipe("nnrank-paper")
    assert isinstance(recipe, NNRankRecipe)
    assert (recipe.objective.objective, recipe.objective.triplets, recipe.objective.folds) == (
        "paper",
        500_000,
        0,
    )
    assert (recipe.model.dimension, recipe.model.metadata_dimension, recipe.training.batch) == (175, 45, 256)
    assert (recipe.negatives.per_query, recipe.negatives.neighbours) == (6, 10)


def test_one_fold_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"objective\.folds: one fold would leave nothing to train on"):
        NNRankRecipe.parse({"objective": {"folds": 1}})
    assert NNRankRecipe.parse({"objective": {"folds": 2}}).objective.folds == 2


def test_the_batch_of_a_recipe_is_its_own() -> None:
    assert NNRankRecipe().training.batch == 64
    assert NNRankRecipe.parse({"training": {"epochs": 1}}).training.batch == 64

"""The settings of learned fusions, and the shipped recipes."""

from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite.systems.learned_fusion.recipe import FinalRecipe, FusionRecipe
from cocite_jobs.training.recipes import load_recipe


def test_the_shipped_recipes_are_of_their_classes() -> None:
    fusion, final = load_recipe("fusion"), load_recipe("final", ["rerank=20"])
    assert isinstance(fusion, FusionRecipe)
    assert isinstance(final, FinalRecipe)
    assert final.rerank == 20


def test_a_final_fusion_has_fewer_trees_and_queries() -> None:
    assert FinalRecipe().trees.trees < FusionRecipe().trees.trees
    assert FinalRecipe().queries < FusionRecipe().queries


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"tasks": []}, "tasks"),
        ({"tasks": ["regional"]}, "tasks"),
        ({"held_out": 1.0}, "held_out"),
        ({"reserve": 0.95}, "reserve"),
        ({"trees": {"leaves": 1}}, "trees.leaves"),
        ({"tree": {}}, "unknown key 'tree'"),
    ],
)
def test_impossible_settings_are_refused(data: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        FusionRecipe.parse(data, where="fusion.yaml")

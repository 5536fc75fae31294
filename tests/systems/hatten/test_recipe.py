"""The settings of a HAtten training."""

from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite.systems.hatten.recipe import HattenObjectiveSettings, HattenRecipe


def test_the_objective_of_the_paper_needs_negatives() -> None:
    with pytest.raises(ConfigError, match="mined and random are both 0: there would be no negatives"):
        HattenRecipe.parse({"objective": {"objective": "paper", "mined": 0, "random": 0}})
    with pytest.raises(ConfigError, match="mined is 0 .* cited papers would have no negatives"):
        HattenRecipe.parse({"objective": {"objective": "paper", "mined": 0, "cited_against_random": False}})
    assert HattenObjectiveSettings(objective="in_batch", mined=0, random=0).mined == 0  # those of the batch
    assert HattenObjectiveSettings(objective="paper", mined=1, random=0).mined == 1


def test_a_misspelt_section_is_refused() -> None:
    with pytest.raises(ConfigError, match="objectives"):
        HattenRecipe.parse({"kind": "hatten", "objectives": {}})

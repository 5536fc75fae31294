from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite.systems.confidence.recipe import ConfidenceRecipe


@pytest.mark.parametrize(
    "wrong", ["folds=1", "ranks=1", "rerank=1", "queries=0", "tasks=[]", "candidates=some"]
)
def test_wrong_settings_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong.partition("=")[0]):
        ConfidenceRecipe.parse({}, overrides=[wrong])

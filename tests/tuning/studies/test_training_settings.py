"""The settings of the study whose trials are trainings."""

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.errors import ConfigError
from cocite_tuning.studies.training_settings import TrainingStudySettings


def test_nested_settings_of_the_recipe_become_dotted_names() -> None:
    settings = TrainingStudySettings.parse(
        {"recipe": "nnselect", "set": {"training": {"epochs": 2}, "model.dimension": 8}, "model": "model"}
    )
    assert settings.set == {"training.epochs": 2, "model.dimension": 8}
    assert settings.model == Path("model")
    assert settings.before == ()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [({}, "recipe"), ({"recipe": "nnselect", "sets": {}}, r"unknown key 'sets' \(did you mean 'set'"),
     ({"recipe": "nnselect", "kind": "trees"}, "kind")],
)  # fmt: skip
def test_what_names_no_training_is_refused(data: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        TrainingStudySettings.parse(data)

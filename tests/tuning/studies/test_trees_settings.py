"""The settings of the study of the learned fusion's trees."""

from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite_tuning.studies.trees_settings import TreesStudySettings


@pytest.mark.parametrize("fit", [0, 1, -0.5, 1.5])
def test_some_manuscripts_are_trained_on_and_some_measured(fit: float) -> None:
    with pytest.raises(ConfigError, match="fit"):
        TreesStudySettings.parse({"fit": fit})


def test_the_metrics_look_no_deeper_than_the_candidates() -> None:
    settings = TreesStudySettings()
    depths = [int(name.partition("@")[2]) for name in settings.metric_names if "@" in name]
    assert max(depths) <= settings.depth

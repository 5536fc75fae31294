"""The settings of the study of the blend."""

from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite_tuning.studies.blend_settings import FusionStudySettings


def test_without_signals_all_are_weighed() -> None:
    assert FusionStudySettings().signals == ()
    assert FusionStudySettings.parse({"signals": ["sentences"]}).signals == ("sentences",)


@pytest.mark.parametrize("wrong", [{"pool": 9}, {"pool": 10_001}, {"signals": [""]}, {"weights": {}}])
def test_wrong_values_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        FusionStudySettings.parse(wrong)


def test_its_metrics_look_no_deeper_than_its_pool() -> None:
    settings = FusionStudySettings()
    depths = [int(name.partition("@")[2]) for name in settings.metric_names if "@" in name]
    assert max(depths) <= settings.pool

from __future__ import annotations

from typing import Any

import pytest

from cocite.errors import ConfigError
from cocite.training.engine.settings import TrainingSettings, WorkerSettings


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"offload": True}, "offload needs backend: deepspeed"),
        ({"offload": True, "backend": "deepspeed", "zero": 0}, "offload needs zero: 1, 2 or 3"),
        ({"schedule": {"warmup": -1}}, r"schedule\.warmup"),
        ({"schedule": {"plateau": 0}}, r"schedule\.plateau: input should be greater than 0"),
        ({"schedule": {"plateau": 1.5}}, r"schedule\.plateau: input should be less than or equal to 1"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_the_start(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        TrainingSettings.parse(wrong)


def test_a_range_of_workers_is_ascending() -> None:
    assert WorkerSettings.parse({"count": [2, 4]}).count == (2, 4)
    with pytest.raises(ConfigError, match=r"count: the range \[4, 2\] is upside down"):
        WorkerSettings.parse({"count": [4, 2]})

"""The settings of a masked-language training."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.small_masked_lm import masked_lm_recipe

from cocite.errors import ConfigError


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"texts": {"sequence": 128}}, r"texts\.sequence is 128, and the model reads 64"),
        ({"model": {"heads": 5}}, "5 heads do not divide a width of 32"),
        ({"texts": {"least": 31}}, "least is 31, and a sequence has room for 30 tokens"),
        (
            {"masking": {"masked": 0.9, "replaced": 0.2}},
            r"masked is 0\.9 and replaced 0\.2, together above 1",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        masked_lm_recipe(**sections)

"""The settings of a pretraining."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.small_mp_bert4cr import pretraining_recipe

from cocite.errors import ConfigError


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"documents": {"sentences": 30}}, r"documents\.sentences is 30, and the model reads 10"),
        ({"texts": {"sentence_tokens": 30}}, r"texts\.sentence_tokens is 30, and the model reads 24"),
        ({"documents": {"least": 9}}, "least is 9, above sentences, 8"),
        ({"hiding": {"masked": 0.9, "replaced": 0.2}}, r"masked is 0\.9 and replaced 0\.2, together above 1"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        pretraining_recipe(**sections)

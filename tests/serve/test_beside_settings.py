"""A second release is named before it gets traffic."""

from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite_serve.beside_settings import BesideSettings
from cocite_serve.settings import ServeSettings


def test_nothing_is_beside_by_default() -> None:
    assert not ServeSettings(index="index").beside.is_named
    assert all(
        BesideSettings.parse({name: "x"}, where="x").is_named for name in ("model", "index", "index_version")
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("traffic=shadow", "beside: traffic: there is no release"),
        ("traffic=both", "beside.traffic: input should be 'none', 'shadow', 'split' or 'interleave'"),
        ("share=1.1", "beside.share: input should be less than or equal to 1"),
        ("at_once=0", "beside.at_once: input should be greater than or equal to 1"),
    ],
)
def test_mistakes_are_one_sentence(given: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        ServeSettings.parse(
            {"index": "index"}, where="cocite serve", overrides=[f"beside.{given}"], option="--set"
        )

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.errors import InputError
from cocite_mlflow.references import ModelReference, ModelVersion


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("models/x", None),
        ("models:/a b@champion", ModelReference("a b", alias="champion")),
        ("models:/x/12", ModelReference("x", version=12)),
    ],
)
def test_addresses(text: str | None, expected: ModelReference | None) -> None:
    assert ModelReference.parse(text) == expected
    assert ModelReference.parse(None if text is None else Path(text)) == expected
    assert expected is None or str(expected) == text


@pytest.mark.parametrize("text", ["models:/x", "models:/x@", "models:/x/latest", "models:/x/y@z", "models:/"])
def test_an_address_that_is_none(text: str) -> None:
    with pytest.raises(
        InputError, match="names no registered model.*models:/NAME@ALIAS or models:/NAME/VERSION"
    ):
        ModelReference.parse(text)


def test_a_version_is_named_with_the_alias_that_led_to_it_and_referred_to_without() -> None:
    version = ModelVersion("ranker", 3, "champion")
    assert str(version) == "ranker version 3 (@champion)"
    assert version.reference == ModelReference("ranker", version=3)

"""Parameter values by dotted name."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from cocite_tuning.sweep.values import Values

ADAPTER: TypeAdapter[dict[str, Any]] = TypeAdapter(Values)


@pytest.mark.parametrize(
    "data",
    [
        {"training": {"epochs": 2, "seed": 1}, "keep": "always"},
        {"training.epochs": 2, "training": {"seed": 1}, "keep": "always"},
        {"training.epochs": 2, "training.seed": 1, "keep": "always"},
    ],
)
def test_nested_and_dotted_names_are_the_same(data: dict[str, Any]) -> None:
    assert ADAPTER.validate_python(data) == {"training.epochs": 2, "training.seed": 1, "keep": "always"}


def test_lists_are_values_and_not_flattened() -> None:
    assert ADAPTER.validate_python({"objective": {"extra": [0, 1]}}) == {"objective.extra": [0, 1]}


@pytest.mark.parametrize("data", [3, ["training.epochs"], {str(i): i for i in range(1001)}])
def test_what_is_no_mapping_or_too_large_is_refused(data: Any) -> None:
    with pytest.raises(ValidationError, match="valid dictionary|at most 1000"):
        ADAPTER.validate_python(data)

"""Parameters and metrics as text."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cocite_tuning.report.formatting import DEFAULT, format_metric, format_params, format_value
from cocite_tuning.sweep.trials import Trial


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (True, "yes"), (False, "no"), (1, "1"), (0.00012345, "0.0001234"), (123456.0, "1.235e+05"),
     (math.nan, "nan"), ("a b", "a b"), ([1, 2], "[1, 2]")],
)  # fmt: skip
def test_values(value: Any, text: str) -> None:
    assert format_value(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.5, "0.5000"), (-0.25, "-0.2500"), (0.0005, "0.0005"), (1.0, "1"), (0.0, "0"),
     (12.345678, "12.35"), (math.nan, "nan")],
)  # fmt: skip
def test_metrics_of_shares_have_four_places(value: float | None, text: str) -> None:
    assert format_metric(value) == text


def test_parameters_stand_on_one_line() -> None:
    assert format_params(Trial(number=0, params={"a.b": 0.5, "keep": False})) == "a.b 0.5, keep no"
    assert format_params(Trial(number=0, params={})) == DEFAULT

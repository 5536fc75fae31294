from __future__ import annotations

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from cocite_mlflow.values import (
    PARAM_LIMIT,
    PARAMS_PER_REQUEST,
    metric_entities,
    mlflow_metrics,
    mlflow_name,
    mlflow_params,
    param_batches,
)


def test_names_of_metrics_become_names_that_mlflow_accepts() -> None:
    assert mlflow_name("R@10") == "R_at_10"
    assert mlflow_name("positives >= 2/MAP@10") == "positives ge 2/MAP_at_10"
    assert mlflow_name("first+fusion") == "firstplusfusion"
    assert mlflow_name("ms: query (mean)") == "ms- query -mean-"


@given(st.text(min_size=1))
def test_every_name_is_accepted_and_stays_when_it_was_already(name: str) -> None:
    accepted = mlflow_name(name)
    assert re.fullmatch(r"[\w\-./ ]+", accepted)
    assert mlflow_name(accepted) == accepted


def test_nested_parameters_get_dotted_names_and_long_values_are_cut() -> None:
    params = {"task": "local", "model": {"k": 5, "fields": ["title"]}, "long": "x" * (PARAM_LIMIT + 1)}
    stored = mlflow_params(params)
    assert stored["model.k"] == "5"
    assert stored["model.fields"] == "['title']"
    assert stored["long"] == "x" * PARAM_LIMIT


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats()))
def test_metrics_are_finite(values: dict[str, float]) -> None:
    stored = mlflow_metrics(values)
    assert stored == {name: value for name, value in values.items() if math.isfinite(value)}


def test_metrics_carry_their_step_and_parameters_fit_into_requests() -> None:
    [metric] = metric_entities({"loss": 0.5}, 7)
    assert (metric.key, metric.value, metric.step) == ("loss", 0.5, 7)
    assert metric_entities({"loss": 0.5}, None)[0].step == 0
    batches = param_batches({f"p{i}": str(i) for i in range(2 * PARAMS_PER_REQUEST + 1)})
    assert [len(batch) for batch in batches] == [PARAMS_PER_REQUEST, PARAMS_PER_REQUEST, 1]
    assert batches[2][0].key == f"p{2 * PARAMS_PER_REQUEST}"
    assert param_batches({}) == []

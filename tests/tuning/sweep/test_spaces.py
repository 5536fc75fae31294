"""Search spaces: read, refused, drawn from, and brought back from what was drawn."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import ConfigError
from cocite_tuning.sweep.sampler import draw_random
from cocite_tuning.sweep.spaces import Space

CONDITIONAL = {
    "objective": {
        "kind": {
            "choice": [
                {"value": "paper", "then": {"objective.gamma": {"choice": [0.5, 1.0, 1.5]}}},
                {
                    "value": "in_batch",
                    "then": {"objective.gamma": {"uniform": [3, 4]}, "scale": {"quniform": [5, 40, 5]}},
                },
                "none",
            ]
        }
    },
    "rate": {"loguniform": [1e-4, 1e-1]},
    "dropout": {"quniform": [0, 0.75, 0.05]},
    "layers": {"uniformint": [1, 4]},
    "heads": {"randint": [1, 4]},
    "size": {"qloguniform": [8, 64, 8]},
    "shift": {"normal": [0, 2]},
    "sizes": {"pchoice": [[0.9, [20, 20]], [0.1, {"value": [50, 50]}]]},
}  # fmt: skip


@pytest.fixture(scope="module")
def space() -> Space:
    return Space.parse(CONDITIONAL)


@pytest.fixture(scope="module")
def drawn(space: Space) -> list[dict[str, Any]]:
    return draw_random(space, 300, seed=1)


def test_a_key_in_several_branches_is_one_key_and_several_terms(space: Space) -> None:
    assert space.keys()[:3] == ["objective.kind", "objective.gamma", "scale"]
    labels = [term.label for term in space.all_terms()]
    assert len(set(labels)) == len(labels) == len(space.keys()) + 1


def test_draws_lie_within_their_bounds_and_have_their_types(drawn: list[dict[str, Any]]) -> None:
    assert all(1e-4 <= params["rate"] <= 1e-1 for params in drawn)
    assert {params["layers"] for params in drawn} == {1, 2, 3, 4}
    assert {params["heads"] for params in drawn} == {1, 2, 3}
    assert {params["size"] for params in drawn} == {8, 16, 24, 32, 40, 48, 56, 64}
    assert all(isinstance(params[name], int) for params in drawn for name in ("layers", "heads", "size"))
    assert {params["dropout"] for params in drawn} <= {round(0.05 * i, 2) for i in range(16)}
    often = sum(params["sizes"] == [20, 20] for params in drawn)
    assert 240 < often < 300


def test_bounds_are_the_values_own_and_not_their_logarithms(drawn: list[dict[str, Any]]) -> None:
    below = sum(params["rate"] < 10**-2.5 for params in drawn)
    assert 110 < below < 190  # half of the logarithms, not half of the range


def test_a_parameter_is_drawn_only_where_its_condition_holds(drawn: list[dict[str, Any]]) -> None:
    for params in drawn:
        kind = params["objective.kind"]
        assert ("scale" in params) == (kind == "in_batch")
        if kind == "none":
            assert "objective.gamma" not in params
        else:
            assert (params["objective.gamma"] >= 3) == (kind == "in_batch")
    assert {params["objective.kind"] for params in drawn} == {"paper", "in_batch", "none"}


def test_the_point_of_drawn_parameters_gives_them_back(space: Space, drawn: list[dict[str, Any]]) -> None:
    for params in drawn:
        point = space.to_point(params)
        assert point is not None
        assert space.to_params(point) == params


@pytest.mark.parametrize(
    "changed",
    [
        {"rate": 0.5},
        {"objective.kind": "other"},
        {"objective.gamma": 0.7},
        {"layers": 9},
        {"layers": True},
        {"heads": 4},
        {"unknown": 1},
    ],
)
def test_values_from_elsewhere_are_not_taken_for_drawn_ones(
    space: Space, drawn: list[dict[str, Any]], changed: dict[str, Any]
) -> None:
    paper = next(params for params in drawn if params["objective.kind"] == "paper")
    assert space.to_point({**paper, **changed}) is None
    assert space.to_point({}) is None


def test_true_is_no_one() -> None:
    space = Space.parse({"flag": {"choice": [1, True, 0, False]}})
    for value, place in ((1, 0), (True, 1), (0, 2), (False, 3)):
        assert space.to_point({"flag": value}) == {"flag": place}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({}, "names no parameter"),
        ({"k": 3}, "space.k: 3 is no term"),
        ({"k": {}}, "no term is called ''"),
        ({"k": {"choose": [1]}}, "no term is called 'choose' (did you mean 'choice'?)"),
        ({"k": {"choice": 5}}, "choice takes a list, got 5"),
        ({"k": {"choice": []}}, "choice takes a list"),
        ({"k": {"choice": [1, 2], "uniform": [0, 1]}}, "choice stands beside another key"),
        ({"k": {"choice": [1, 1]}}, "an option is given twice"),
        ({"k": {"choice": [{"value": 1, "them": {}}]}}, "is no option"),
        ({"k": {"pchoice": [[0.5, 1], [0.4, 2]]}}, "the probabilities do not sum to 1"),
        ({"k": {"pchoice": [1, 2]}}, "1 is not of the form [probability, option]"),
        ({"k": {"uniform": [2, 1]}}, "the lower bound 2 is not below the upper one 1"),
        ({"k": {"uniform": [0, 1, 2]}}, "uniform takes [low, high], got [0, 1, 2]"),
        ({"k": {"uniform": [0, "one"]}}, "uniform takes [low, high]"),
        ({"k": {"uniform": [0, float("inf")]}}, "uniform takes [low, high]"),
        ({"k": {"loguniform": [-9, -2]}}, "not their logarithms: -9 is not above 0"),
        ({"k": {"quniform": [1, 50, 20]}}, "the bound 1 is no multiple of the step 20"),
        ({"k": {"quniform": [0, 50, 0]}}, "the step 0 is not above 0"),
        ({"k": {"normal": [0, 0]}}, "the deviation 0 is not above 0"),
        ({"k": {"randint": [0, 2.5]}}, "randint takes whole numbers"),
        (
            {"k": {"choice": [{"value": 1, "then": {"inner": {"uniform": [1, 1]}}}]}},
            "space.k[0].inner: the lower bound",
        ),
    ],
)
def test_what_is_no_space_is_refused_with_its_place(data: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        Space.parse(data)


def test_extremes_stand_for_all_values(space: Space) -> None:
    extremes = {term.key: term.extremes() for term in space.all_terms() if term.key != "objective.gamma"}
    assert extremes == {
        "objective.kind": ("paper", "in_batch", "none"),
        "scale": (5, 40),
        "rate": (1e-4, 1e-1),
        "dropout": (0.0, 0.75),
        "layers": (1, 4),
        "heads": (1, 3),  # randint excludes the upper bound
        "size": (8, 64),
        "shift": (0.0,),  # a normal has no bounds: its mean
        "sizes": ([20, 20], [50, 50]),
    }


@given(
    low=st.integers(-50, 50),
    steps=st.integers(1, 20),
    step=st.sampled_from([1, 2, 5, 0.5, 0.25]),
    data=st.data(),
)
def test_values_of_steps_come_back(low: int, steps: int, step: float, data: st.DataObject) -> None:
    bounds = [low * step, (low + steps) * step]
    (term,) = Space.parse({"k": {"quniform": [*bounds, step]}}).terms
    drawn = data.draw(st.floats(*bounds))
    value = term.to_value(round(drawn / step) * step)
    assert bounds[0] <= value <= bounds[1]
    assert value / step == round(value / step)
    assert term.to_drawn(value) == value
    assert isinstance(value, int) == float(step).is_integer()

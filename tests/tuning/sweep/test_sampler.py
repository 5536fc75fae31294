"""The sampler: given trials drawn elsewhere, it continues as if it had drawn them itself."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cocite_tuning.sweep.sampler import Sampler, Search
from cocite_tuning.sweep.spaces import Space

SPACE = Space.parse(
    {
        "x": {"uniform": [-3, 3]},
        "size": {"quniform": [0, 40, 10]},
        "kind": {"choice": [{"value": "a", "then": {"y": {"loguniform": [0.01, 1]}}}, "b"]},
    }
)


def value(params: dict[str, Any]) -> float:
    return -((params["x"] - 1) ** 2) + params.get("y", 0) - abs(params["size"] - 20) / 20


@pytest.mark.parametrize("search", ["tpe", "random"])
def test_a_new_sampler_that_observes_the_trials_continues_alike(search: Search) -> None:
    first = Sampler(SPACE, search, seed=4, startup=5)
    trials = {}
    for number in range(12):
        trials[number] = first.draw(number)
        if number != 9:  # still under way when the driver dies
            first.observe(number, trials[number], math.nan if number == 3 else value(trials[number]))
    second = Sampler(SPACE, search, seed=4, startup=5)
    for number, params in trials.items():
        if number != 9:
            second.observe(number, params, math.nan if number == 3 else value(params))
    second.add_running(9, trials[9])
    assert [second.draw(number) for number in range(12, 16)] == [first.draw(n) for n in range(12, 16)]


def test_random_search_ignores_the_values() -> None:
    observing, fresh = Sampler(SPACE, "random", seed=2), Sampler(SPACE, "random", seed=2)
    for number in range(5):
        observing.observe(number, observing.draw(number), 1.0)
    assert observing.draw(7) == fresh.draw(7)
    assert observing.draw(8) != Sampler(SPACE, "random", seed=3).draw(8)


def test_parameters_that_the_space_cannot_draw_are_ignored() -> None:
    sampler = Sampler(SPACE, startup=2)
    sampler.observe(0, {}, 100.0)
    sampler.observe(1, {"x": 99.0, "size": 20, "kind": "b"}, 100.0)
    for number in range(2, 10):
        params = sampler.draw(number)
        assert -3 <= params["x"] <= 3
        sampler.observe(number, params, value(params))


@pytest.mark.parametrize(("mode", "wanted"), [("max", 4), ("min", 0)])
def test_tpe_draws_what_was_good(mode: Any, wanted: int) -> None:
    space = Space.parse({"option": {"choice": [0, 1, 2, 3, 4]}})
    sampler = Sampler(space, mode=mode, seed=0, startup=10)
    drawn = []
    for number in range(40):
        params = sampler.draw(number)
        drawn.append(params["option"])
        sampler.observe(number, params, float(params["option"]))
    assert sum(option == wanted for option in drawn[10:]) >= 12  # by chance 6


def test_tpe_leaves_what_fails() -> None:
    space = Space.parse({"option": {"choice": [0, 1, 2, 3, 4]}})
    sampler = Sampler(space, seed=0, startup=10)
    drawn = []
    for number in range(40):
        params = sampler.draw(number)
        drawn.append(params["option"])
        sampler.observe(number, params, math.nan if params["option"] else 0.1)
    assert sum(option == 0 for option in drawn[10:]) >= 12

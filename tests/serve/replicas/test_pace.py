from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.replicas import pace as pace_module
from cocite_serve.replicas.pace import Pace, measured_pace

SECONDS = st.floats(1e-4, 10)


@given(st.lists(st.tuples(st.floats(1, 1e4), SECONDS), min_size=1, max_size=20))
def test_the_pace_is_between_the_fastest_and_the_slowest_measurement(
    measured: list[tuple[float, float]],
) -> None:
    pace = Pace(*measured[0])
    for amount, seconds in measured[1:]:
        pace.add(amount, seconds)
    units = [seconds / amount for amount, seconds in measured]
    assert min(units) * 0.999 <= pace.seconds(1) <= max(units) * 1.001
    assert pace.amount(pace.seconds(7)) == pytest.approx(7)


def test_after_a_half_life_of_work_a_measurement_counts_half() -> None:
    pace = Pace(100, 5, half_life_s=5)
    pace.add(300, 5)  # 50 units in 2.5 s, and 300 in 5 s
    assert pace.seconds(350) == pytest.approx(7.5)


def test_what_seems_to_take_no_time_is_without_end() -> None:
    assert Pace(1, 0).amount(1) == float("inf")


def test_work_that_was_held_up_once_does_not_set_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    now, seconds = [0.0], iter([9.0, 3.0, 0.5])  # what is made at first use, a stall, and the work itself

    def work() -> None:
        now[0] += next(seconds)

    monkeypatch.setattr(pace_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    assert measured_pace(100, work).seconds(100) == pytest.approx(0.5)

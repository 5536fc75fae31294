from __future__ import annotations

from dataclasses import replace

import pytest

from cocite.errors import InputError
from cocite_jobs.reproduction.budget import FOR_TRAINING, LEAST_MINUTES, Budget, parse_duration
from cocite_jobs.reproduction.plan import Training

TRAININGS = [Training(str(i), (), lambda setup, minutes: None, weight) for i, weight in enumerate((1, 2, 5))]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("45m", 2700), ("45min", 2700), ("2h", 7200), (" 1.5h ", 5400), ("1d", 86_400)],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "2", "0h", "-1h", "2 hours", "1h30m", "inf h", "9999999h", "1e3m"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--budget: .* is no duration \(as 45m, 2h or 1d\)"):
        parse_duration(text)


def test_the_time_left_is_divided_by_weight_as_it_passes() -> None:
    now = [100.0]
    budget = Budget(8 * 60, clock=lambda: now[0])
    assert budget.minutes(TRAININGS) == pytest.approx(FOR_TRAINING * 1)
    now[0] += 60  # the first took a minute in all
    assert budget.minutes(TRAININGS[1:]) == pytest.approx(FOR_TRAINING * 7 * 2 / 7)
    now[0] += 7 * 60 - 1
    assert not budget.is_spent
    assert budget.minutes(TRAININGS[2:]) == LEAST_MINUTES
    now[0] += 1
    assert budget.is_spent


def test_what_is_beside_the_paper_gets_what_its_own_trainings_leave() -> None:
    now = [0.0]
    budget = Budget(60 * 60, clock=lambda: now[0])
    beside = [replace(training, is_beside=True) for training in TRAININGS]
    assert budget.minutes([*TRAININGS, *beside]) == budget.minutes(TRAININGS)
    now[0] += 20 * 60
    assert budget.minutes(beside) == pytest.approx(FOR_TRAINING * 40 / 8)


def test_without_a_budget_there_is_no_limit() -> None:
    budget = Budget(None)
    assert budget.minutes(TRAININGS) is None
    assert not budget.is_spent

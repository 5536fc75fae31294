"""When a canary is ended."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.replicas.canary import Tally
from cocite_serve.rollouts.canary_verdict import fault
from cocite_serve.settings import RolloutSettings

SETTINGS = RolloutSettings()


def tally(requests: int, errors: int = 0, seconds: float = 0.1) -> Tally:
    return Tally(requests, errors, deque([seconds] * (requests - errors)))


@pytest.mark.parametrize(
    ("trial", "served", "expected"),
    [
        (tally(0), tally(0), ""),
        (tally(4, 1), tally(40), ""),
        (tally(4, 2), tally(40), "2 of 4 requests failed, and 0 of 40 by"),
        (tally(2, 2), tally(0), "2 of 2 requests failed, and 0 of 0 by"),
        (tally(20, 4), tally(200, 50), ""),
        (tally(1000, 19), tally(9000), ""),
        (tally(1000, 21), tally(9000), "21 of 1000 requests failed"),
        (tally(9, seconds=2), tally(90), ""),
        (tally(10, seconds=2), tally(9), ""),
        (tally(10, seconds=2), tally(90), "a request took 2.00 s, and 0.10 s by the release"),
        (tally(10, seconds=0.8), tally(90), ""),
        (tally(10, seconds=0.29), tally(90), ""),
        (tally(10, seconds=0.09), tally(90, seconds=0.01), ""),
    ],
)
def test_what_ends_a_canary(trial: Tally, served: Tally, expected: str) -> None:
    reason = fault(trial, served, SETTINGS)
    assert expected in reason
    assert bool(expected) == bool(reason)


def test_at_its_end_a_canary_is_judged_by_the_factor_itself() -> None:
    assert "a request took 0.80 s" in fault(tally(10, seconds=0.8), tally(90), SETTINGS, ended=True)
    assert not fault(tally(10, seconds=0.29), tally(90), SETTINGS, ended=True)
    assert not fault(tally(9, seconds=0.8), tally(90), SETTINGS, ended=True)


@given(st.integers(0, 500), st.floats(0.001, 10), st.integers(0, 5000), st.floats(0.001, 10))
def test_a_release_without_errors_that_is_not_slower_goes_on(
    requests: int, seconds: float, others: int, other_s: float
) -> None:
    assert (
        fault(tally(requests, seconds=min(seconds, other_s)), tally(others, seconds=other_s), SETTINGS) == ""
    )


@given(st.integers(2, 500), st.integers(0, 5000))
def test_a_release_that_answers_nothing_is_ended_where_the_served_one_answers(
    requests: int, others: int
) -> None:
    assert "requests failed" in fault(tally(requests, requests), tally(others), SETTINGS)

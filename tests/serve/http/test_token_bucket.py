from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.http.token_bucket import DAY_S, DailyQuota, TokenBucket

pauses = st.lists(st.one_of(st.just(0.0), st.floats(0, 5), st.floats(0, 1e5)), min_size=1, max_size=60)
rates = st.floats(0.001, 100)


class Clock:
    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@given(pauses, rates, st.integers(1, 20))
def test_never_more_than_the_rate_and_the_burst_pass(gaps: list[float], rate: float, burst: int) -> None:
    clock = Clock()
    bucket = TokenBucket(rate, burst, clock)
    times = [clock.now + at for at in accumulate(gaps)]
    passed = []
    for clock.now in times:
        if bucket.take() == 0:
            passed.append(clock.now)
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            count = last - first + 1
            assert count <= burst + rate * (passed[last] - passed[first]) + 1e-3


@given(pauses, rates, st.integers(1, 20))
def test_who_waits_as_long_as_told_passes_and_not_much_earlier(
    gaps: list[float], rate: float, burst: int
) -> None:
    clock = Clock()
    bucket = TokenBucket(rate, burst, clock)
    for gap in gaps:
        clock.now += gap
        wait = bucket.take()
        assert 0 <= wait <= 1 / rate + 1e-6
        if wait > 1e-3:
            clock.now += wait * 0.9
            assert bucket.take() > 0
            clock.now += wait * 0.1 + 1e-5
            assert bucket.take() == 0


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    clock = Clock()
    bucket = TokenBucket(1.0, 1, clock)
    assert bucket.take() == 0
    clock.now -= 3600
    assert bucket.take() > 3600


@given(st.integers(1, 50), st.lists(st.floats(0, DAY_S), max_size=80))
def test_a_day_lets_as_many_pass_as_it_may(most: int, times: list[float]) -> None:
    clock = Clock(20_000.0 * DAY_S)
    quota = DailyQuota(most, clock)
    passed = 0
    for at in sorted(times):
        clock.now = 20_000.0 * DAY_S + min(at, DAY_S - 1)
        wait = quota.take()
        passed += wait == 0
        assert (wait == 0) == (passed <= most and quota.used == passed) or quota.used == most
    assert passed == quota.used == min(most, len(times))
    clock.now = 20_001.0 * DAY_S
    assert quota.used == 0
    assert quota.take() == 0


def test_who_has_used_up_the_day_is_told_how_long_it_lasts() -> None:
    clock = Clock(DAY_S - 60.0)
    quota = DailyQuota(0, clock)
    assert quota.take() == pytest.approx(60.0)

"""The latency of a query, by a clock that the test sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from cocite.protocols import Query
from cocite_tuning.studies.latency import median_milliseconds

QUERIES = [Query(id=str(i), title="title") for i in range(3)]


class Clock:
    """Time passes only in the calls that are timed."""

    def __init__(self) -> None:
        self.now = 0.0

    def taking(self, seconds: Callable[[Query], float]) -> Callable[[Sequence[Query]], None]:
        def call(queries: Sequence[Query]) -> None:
            (query,) = queries  # one at a time
            self.now += seconds(query)

        return call


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("cocite_tuning.studies.latency.time.perf_counter", lambda: clock.now)
    return clock


def test_it_is_the_median_over_queries(clock: Clock) -> None:
    seconds = {"0": 0.010, "1": 0.500, "2": 0.020}
    times = median_milliseconds({"a": clock.taking(lambda query: seconds[query.id])}, QUERIES)
    assert times == {"a": pytest.approx(20)}


def test_of_the_least_of_each_querys_repeats(clock: Clock) -> None:
    busy = iter([9.0, 0.3, 0.1, 0.2, 0.5, 0.1, 0.4])  # the first call only warms up
    times = median_milliseconds({"a": clock.taking(lambda _: next(busy))}, QUERIES[:2], repeats=3)
    assert times == {"a": pytest.approx(1000 * (0.1 + 0.1) / 2)}


def test_calls_take_turns_after_each_was_called_once() -> None:
    order: list[str] = []
    calls = {name: lambda _, name=name: order.append(name) for name in "ab"}
    median_milliseconds(calls, QUERIES[:2], repeats=2)
    assert order == ["a", "b"] * 5

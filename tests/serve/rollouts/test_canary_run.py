"""A canary: what is looked at until it is over, and what ends it before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from cocite_serve.replicas.canary import Tally
from cocite_serve.rollouts.canary_run import TICK_S, run_canary
from cocite_serve.rollouts.errors import RolledBackError, RolloutError
from cocite_serve.rollouts.gateway_tallies import REPLY_S
from cocite_serve.settings import RolloutSettings

Counted = list[tuple[Tally, Tally]]
"""How requests went at each gateway: those of the release on trial, and of the served one."""


class Trial:
    """Golden queries that take some seconds by the release on trial, and 0.01 by the served one."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds, self.asked = seconds, 0

    def ask_both(self, tallies: tuple[Tally, Tally], seconds: float) -> None:
        assert seconds == 5
        self.asked += 1
        tallies[0].add(self.seconds)
        tallies[1].add(0.01)


def run(
    trial: Trial, counted: Callable[[], Counted] = list, interrupted: bool = False, **settings: float
) -> None:
    event = threading.Event()
    if interrupted:
        event.set()
    anything: Any = trial
    run_canary(counted, anything, RolloutSettings.model_validate(settings), event)


def test_a_release_that_answers_passes_when_it_is_over() -> None:
    run(Trial(0.02), canary_s=0.6)


def test_where_nobody_asks_golden_queries_are_asked_and_end_it_where_they_fail() -> None:
    trial = Trial(None)
    with pytest.raises(RolledBackError, match="2 of 2 requests failed"):
        run(trial, canary_s=600)
    assert trial.asked == 2


def test_where_clients_ask_no_golden_query_is_asked() -> None:
    trial, on_trial = Trial(0.02), Tally()

    def counted() -> Counted:
        """At each look one request more, of which those after the third fail."""
        on_trial.add(0.02 if on_trial.requests < 3 else None)
        return [(on_trial, Tally(9))]

    with pytest.raises(RolledBackError, match="2 of 5 requests failed, and 0 of 9"):
        run(trial, counted, canary_s=600)
    assert trial.asked == 0


class Clock(threading.Event):
    """Interrupts nothing; what is waited for takes no time but this clock's, and requests fail by it."""

    def __init__(self, on_trial: Tally, failures: list[float]) -> None:
        super().__init__()
        self.now, self._on_trial, self._failures = 0.0, on_trial, failures

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.now += timeout
        while self._failures and self._failures[0] <= self.now:
            self._failures.pop(0)
            self._on_trial.add(None)
        return False


@pytest.mark.parametrize("reply_s", [0.0, REPLY_S])
def test_it_is_rolled_back_within_the_stated_seconds_of_the_second_failure(
    reply_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures come between two looks, the gateways take ``reply_s`` to say so, and a golden query hangs meanwhile."""
    on_trial, hung, ended = Tally(), threading.Event(), list[bool]()
    clock = Clock(on_trial, [1.2, second := 1.7])

    class Hanging(Trial):
        def ask_both(self, tallies: tuple[Tally, Tally], seconds: float) -> None:
            ended.append(hung.wait(60))

    def counted() -> Counted:
        found = [(Tally(on_trial.requests, on_trial.errors), Tally(90))]
        clock.wait(reply_s)
        return found

    def waited(*_: object) -> None:
        raise AssertionError("the canary waits for a golden query")

    trial: Any = Hanging(None)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "join", waited)
        with pytest.raises(RolledBackError, match="2 of 2 requests failed, and 0 of 90"):
            run_canary(counted, trial, RolloutSettings(canary_s=600), clock)
    assert not ended
    hung.set()
    # A look takes REPLY_S at most, and one may just have begun when the second request fails.
    assert clock.now - second <= TICK_S + 2 * reply_s <= TICK_S + 2 * REPLY_S < 6


def test_nothing_is_asked_once_it_is_over() -> None:
    trial = Trial(0.02)
    run(trial, canary_s=1e-9)
    assert trial.asked == 0


def test_what_gateways_have_counted_is_added_up() -> None:
    counted = [(Tally(4, 1), Tally(40)), (Tally(4, 2), Tally(40, 1))]
    with pytest.raises(RolledBackError, match="3 of 8 requests failed, and 1 of 80"):
        run(Trial(0.01), lambda: counted, canary_s=600)


def test_an_interrupt_ends_it() -> None:
    with pytest.raises(RolloutError, match="the endpoint was ended before the canary was"):
        run(Trial(0.01), interrupted=True, canary_s=600)

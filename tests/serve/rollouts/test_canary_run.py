"""A canary: what is looked at until it is over, and what ends it before."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from cocite_serve.replicas.canary import Tally
from cocite_serve.rollouts.canary_run import run_canary
from cocite_serve.rollouts.errors import RolledBackError, RolloutError
from cocite_serve.settings import RolloutSettings


class Trial:
    """Golden queries that take some seconds by the release on trial, and 0.01 by the served one."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds, self.asked = seconds, 0

    def ask_both(self, tallies: tuple[Tally, Tally], seconds: float) -> None:
        assert seconds == 5
        self.asked += 1
        tallies[0].add(self.seconds)
        tallies[1].add(0.01)


def run(trial: Trial, counted: Any = (), interrupted: bool = False, **settings: float) -> None:
    event = threading.Event()
    if interrupted:
        event.set()
    anything: Any = trial
    run_canary(lambda: counted, anything, RolloutSettings.model_validate(settings), event)


def test_where_nobody_asks_golden_queries_are_asked_until_it_is_over() -> None:
    trial = Trial(0.02)
    run(trial, canary_s=1.2)
    assert trial.asked >= 2


def test_golden_queries_that_fail_end_it() -> None:
    with pytest.raises(RolledBackError, match="2 of 2 requests failed"):
        run(Trial(None), canary_s=600)


def test_what_gateways_have_counted_is_added_up() -> None:
    counted = [(Tally(4, 1), Tally(40)), (Tally(4, 2), Tally(40, 1))]
    with pytest.raises(RolledBackError, match="3 of 8 requests failed, and 1 of 80"):
        run(Trial(0.01), counted, canary_s=600)


def test_an_interrupt_ends_it() -> None:
    with pytest.raises(RolloutError, match="the endpoint was ended before the canary was"):
        run(Trial(0.01), interrupted=True, canary_s=600)

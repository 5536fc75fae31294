"""What gateways count in a canary; on a real Ray Serve with one that hangs: tests/integration/test_stuck_gateway.py."""

from __future__ import annotations

from typing import Any

import pytest
from ray import serve
from ray.exceptions import RayActorError
from ray.serve.exceptions import RayServeException

from cocite_serve.replicas.canary import Counted, Tally
from cocite_serve.rollouts.gateway_tallies import GatewayTallies

A, B = Counted("a", (Tally(4, 1), Tally(40))), Counted("b", (Tally(2), Tally(20)))
SAYS_LAST = "how the canary goes (b); what each said last counts"


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def tallies(told: list[str]) -> GatewayTallies:
    return GatewayTallies(told.append)


def on_trial(tallies: GatewayTallies) -> list[tuple[int, int]]:
    """Requests and errors of the release on trial at each gateway."""
    return [(trial.requests, trial.errors) for trial, _ in tallies.known()]


def test_of_a_gateway_that_hangs_what_it_said_last_counts_and_its_name_is_told_once(
    tallies: GatewayTallies, told: list[str]
) -> None:
    tallies.take_in([A, B])
    for errors in (2, 3):
        tallies.take_in([Counted("a", (Tally(5, errors), Tally(50))), TimeoutError()])
    assert on_trial(tallies) == [(5, 3), (2, 0)]
    assert told == [f"1 of 2 gateways did not say within 2.5 s {SAYS_LAST}"]


def test_one_that_hangs_again_is_told_again(tallies: GatewayTallies, told: list[str]) -> None:
    for replies in ([A, B], [A, TimeoutError()], [A, B], [A, RayActorError()]):
        tallies.take_in(list(replies))
    assert len(told) == 2


def test_what_a_dead_gateway_counted_stays_and_the_one_in_its_place_adds_to_it(
    tallies: GatewayTallies, told: list[str]
) -> None:
    tallies.take_in([A, B])
    tallies.take_in([A])
    tallies.take_in([A, Counted("c", None)])
    assert on_trial(tallies) == [(4, 1), (2, 0)]
    tallies.take_in([A, Counted("c", (Tally(1, 1), Tally()))])
    assert on_trial(tallies) == [(4, 1), (2, 0), (1, 1)]
    assert told == []


def test_one_that_never_answered_has_no_name(tallies: GatewayTallies, told: list[str]) -> None:
    tallies.take_in([A, TimeoutError()])
    assert on_trial(tallies) == [(4, 1)]
    assert "1 of 2 gateways" in told[0]
    assert "(new ones)" in told[0]


@pytest.mark.parametrize("error", [TimeoutError(), RayActorError(), RayServeException()])
def test_without_any_gateway_nothing_is_known_and_nothing_raised(
    error: Exception, tallies: GatewayTallies, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_handle(name: str) -> Any:
        raise error

    monkeypatch.setattr(serve, "get_app_handle", no_handle)
    assert tallies.newest() == []
    assert "1 of 1 gateways" in told[0]

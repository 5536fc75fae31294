"""A canary from beginning to end: what was counted is looked at until something speaks against the release."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from cocite_serve.replicas.canary import Tally
from cocite_serve.rollouts.canary_verdict import fault
from cocite_serve.rollouts.errors import RolledBackError, RolloutError
from cocite_serve.rollouts.golden_trial import GoldenTrial
from cocite_serve.settings import RolloutSettings

TICK_S = 0.5
"""Seconds between two looks."""


def run_canary(
    counted: Callable[[], Sequence[tuple[Tally, Tally]]],
    trial: GoldenTrial,
    settings: RolloutSettings,
    interrupted: threading.Event,
) -> None:
    """Return when a release on trial has answered a share of the requests for ``canary_s`` as it should.

    Where no client asks, both releases are asked golden queries, one at a time and beside the looks: one that hangs
    delays nothing. So what speaks against the release ends it at the next look, :data:`TICK_S` and the time of
    ``counted`` later.

    Args:
        counted: how requests went at each gateway so far: those of the release on trial, and of the served one.
        trial: asks golden queries.
        settings: the bounds.
        interrupted: ends it.

    Raises:
        RolledBackError: the release failed, or was too slow.
        RolloutError: the endpoint is being ended.

    Example:
        >>> failed = [(Tally(requests=9, errors=9), Tally(requests=9))]
        >>> run_canary(lambda: failed, GoldenTrial(None, None, RolloutSettings()), RolloutSettings(), threading.Event())
        Traceback (most recent call last):
        ...
        cocite_serve.rollouts.errors.RolledBackError: in the canary 9 of 9 requests failed, and 0 of 9 by ...
    """
    own = Tally(), Tally()
    golden: threading.Thread | None = None
    end, before = time.monotonic() + settings.canary_s, 0
    while True:
        if interrupted.wait(TICK_S):
            raise RolloutError("the endpoint was ended before the canary was")
        on_trial, served = (Tally.sum(tallies) for tallies in zip(own, *counted(), strict=True))
        ended = time.monotonic() >= end
        if reason := fault(on_trial, served, settings, ended=ended):
            raise RolledBackError(reason)
        if ended:
            return
        if on_trial.requests == before and (golden is None or not golden.is_alive()):
            # Nobody waits for it: it ends by its own limit of time.
            asked = (own, settings.timeout_s)
            golden = threading.Thread(target=trial.ask_both, args=asked, name="golden", daemon=True)
            golden.start()
        before = on_trial.requests

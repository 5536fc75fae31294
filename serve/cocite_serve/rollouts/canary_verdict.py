"""Whether a canary goes on or is ended, by what the gateways have counted. Plain logic."""

from __future__ import annotations

from cocite_serve.replicas.canary import Tally
from cocite_serve.settings import RolloutSettings


def fault(trial: Tally, served: Tally, settings: RolloutSettings, *, ended: bool = False) -> str:
    """What speaks against the release on trial.

    One failure is forgiven: a replica may have died. Medians are compared once both releases have answered
    ``canary_requests``, so a request that took very long decides nothing; and at the end of the canary, for a release
    that has just been loaded answers its first requests slowly, and of many looks at a median that still changes one
    finds it too long. Before the end a release is too slow at the square of ``canary_factor``.

    Args:
        trial: how its requests went.
        served: how those of the release served now went, in the same time.
        settings: the bounds.
        ended: the canary is over; otherwise it goes on unless something is found.

    Returns:
        A sentence; empty: nothing does.

    Example:
        >>> trial, served = Tally(requests=20, errors=3), Tally(requests=200)
        >>> fault(trial, served, RolloutSettings())
        'in the canary 3 of 20 requests failed, and 0 of 200 by the release served now'
    """
    if trial.errors > 1 and trial.error_share > served.error_share + settings.canary_errors:
        return (
            f"in the canary {trial.errors} of {trial.requests} requests failed, and {served.errors} of "
            f"{served.requests} by the release served now"
        )
    if min(len(trial.seconds), len(served.seconds)) < settings.canary_requests:
        return ""
    slower = trial.median_s - served.median_s
    factor = settings.canary_factor if ended else settings.canary_factor**2
    if slower > settings.canary_slower_s and trial.median_s > factor * served.median_s:
        return (
            f"in the canary a request took {trial.median_s:.2f} s, and {served.median_s:.2f} s by the release "
            "served now"
        )
    return ""

"""How often somebody may come: a token bucket for a rate, a counter for a day. Plain logic, with a clock from outside.

A bucket holds up to ``burst`` tokens and gains ``rate_s`` of them a second; a request takes one. So at most
``burst + rate_s * t`` requests pass in any ``t`` seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

DAY_S = 86_400


class TokenBucket:
    """Lets requests pass at a rate.

    Args:
        rate_s: tokens that it gains in a second, more than 0.
        burst: most tokens that it holds, at least 1.
        clock: the time in seconds.

    Example:
        >>> now = 0.0
        >>> bucket = TokenBucket(rate_s=0.5, burst=2, clock=lambda: now)
        >>> bucket.take(), bucket.take(), bucket.take()
        (0.0, 0.0, 2.0)
        >>> now = 2.0
        >>> bucket.take()
        0.0
    """

    def __init__(self, rate_s: float, burst: float, clock: Callable[[], float]) -> None:
        self._rate_s, self._burst, self._clock = rate_s, max(burst, 1.0), clock
        # The time at which it is full again, rather than tokens at a time: one number, which no rounding wears off.
        self._full_at = clock()

    def take(self) -> float:
        """Take a token. Returns 0, or the seconds after which there is one; then none is taken."""
        now = self._clock()
        full_at = max(self._full_at, now) + 1 / self._rate_s
        wait = full_at - now - self._burst / self._rate_s
        # What rounding leaves of nothing is nothing: some units in the last place of the time.
        if wait > 8 * math.ulp(full_at):
            return wait
        self._full_at = full_at
        return 0.0


def day_of(seconds: float) -> int:
    """The day, in days since 1970 (UTC), of a time in seconds since 1970.

    Example:
        >>> day_of(86_399.9), day_of(86_400.0)
        (0, 1)
    """
    return int(seconds // DAY_S)


class DailyQuota:
    """Lets so many requests pass between two midnights (UTC).

    Args:
        most: requests of a day.
        clock: seconds since 1970 (UTC).

    Example:
        >>> now = 86_390.0
        >>> quota = DailyQuota(1, lambda: now)
        >>> quota.take(), quota.take(), quota.used
        (0.0, 10.0, 1)
        >>> now = 86_400.0
        >>> quota.used, quota.take()
        (0, 0.0)
    """

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most, self._clock = most, clock
        self._day, self._used = 0, 0

    @property
    def used(self) -> int:
        """Requests that have passed today."""
        return self._used if self._day == day_of(self._clock()) else 0

    def resume(self, day: int, used: int) -> None:
        """Go on with the requests that have passed on a day; where that is over, with none."""
        self._day, self._used = day, used

    def take(self) -> float:
        """Count a request. Returns 0, or the seconds until midnight where it may not pass; then it is not counted."""
        now = self._clock()
        day, used = day_of(now), self.used
        if used >= self._most:
            return (day + 1) * DAY_S - now
        self._day, self._used = day, used + 1
        return 0.0

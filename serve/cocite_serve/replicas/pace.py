"""How long a unit of work takes, estimated from what was measured; what is recent counts most."""

from __future__ import annotations

import time
from collections.abc import Callable

MEASUREMENTS = 2
"""Of the first work. A process that is held up in one of them, as other processes start, seems to be slower than it is,
and would refuse requests that it can answer."""


class Pace:
    """Seconds a unit of work, as a mean of what was measured, exponentially weighted by the seconds it took.

    Args:
        amount: units of a first measurement, more than 0.
        seconds: that it took.
        half_life_s: seconds of work after which a measurement counts half.

    Example:
        >>> pace = Pace(amount=1000, seconds=0.1)
        >>> pace.seconds(500)
        0.05
        >>> for _ in range(99):
        ...     pace.add(1000, 0.2)
        >>> round(pace.seconds(500), 3)
        0.1
    """

    def __init__(self, amount: float, seconds: float, half_life_s: float = 5.0) -> None:
        self._amount, self._seconds, self._half_life_s = float(amount), float(seconds), half_life_s

    def add(self, amount: float, seconds: float) -> None:
        """Take a measurement in: so many units took so many seconds."""
        keep = 0.5 ** (seconds / self._half_life_s)
        self._amount = keep * self._amount + amount
        self._seconds = keep * self._seconds + seconds

    def seconds(self, amount: float) -> float:
        """Seconds that so many units will take."""
        return amount * self._seconds / self._amount

    def amount(self, seconds: float) -> float:
        """Units that so many seconds are enough for; infinitely many where they seem to take no time."""
        return seconds * self._amount / self._seconds if self._seconds else float("inf")


def measured_pace(amount: float, work: Callable[[], object]) -> Pace:
    """The pace of work that is done once to make what first use needs, and then measured.

    Args:
        amount: units of the work.
        work: is done ``1 + MEASUREMENTS`` times; the shortest of those that are measured counts.

    Example:
        >>> measured_pace(1000, lambda: time.sleep(0.01)).seconds(1000) >= 0.01
        True
    """
    work()
    seconds = []
    for _ in range(MEASUREMENTS):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return Pace(amount, min(seconds))

"""The time that a reproduction may take, and the part of it that each training gets."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from cocite.errors import InputError
from cocite_jobs.reproduction.plan import Training

FOR_TRAINING = 0.75
"""The part of the time left that is divided among the trainings: tables and inputs take the rest."""
LEAST_MINUTES = 0.05
"""A training gets no less: it ends after its first steps."""
UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def parse_duration(text: str) -> float:
    """Seconds of a duration such as ``90m``.

    Raises:
        InputError: it is none.

    Example:
        >>> parse_duration("2h"), parse_duration("1.5 h"), parse_duration("45m")
        (7200.0, 5400.0, 2700.0)
    """
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*(s|m|min|h|d)", text.strip())
    if found is None or float(found[1]) == 0:
        raise InputError(f"{text!r} is no duration", where="--budget", hint="as 45m, 2h or 1d")
    return float(found[1]) * UNITS[found[2]]


class Budget:
    """Divides the seconds that are left among the trainings that are left, by their weights.

    Args:
        seconds: of the whole reproduction; None: no limit.
        clock: tells seconds.

    Example:
        >>> now = [0.0]
        >>> budget = Budget(2400, clock=lambda: now[0])
        >>> trainings = [Training("ab"[i], (), lambda setup, minutes: None, weight=i + 1) for i in range(2)]
        >>> budget.minutes(trainings)  # of the first of them
        10.0
        >>> now[0] = 2400
        >>> budget.is_spent
        True
    """

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.end = None if seconds is None else clock() + seconds

    @property
    def is_spent(self) -> bool:
        """Whether no time is left."""
        return self.end is not None and self.clock() >= self.end

    def minutes(self, trainings: Sequence[Training]) -> float | None:
        """The most minutes of the first of the trainings that are left; None: no limit.

        Trainings for what the paper does not have are the last, and get what the others leave.
        """
        if self.end is None:
            return None
        first = trainings[0]
        left = FOR_TRAINING * (self.end - self.clock()) / 60
        share = first.weight / sum(each.weight for each in trainings if each.is_beside == first.is_beside)
        return max(left * share, LEAST_MINUTES)

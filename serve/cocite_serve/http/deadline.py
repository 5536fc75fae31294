"""When the answer to a request has to be there."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Deadline:
    """When an answer has to be there, and whether a shorter reading will do to keep it.

    Attributes:
        at: time of this process' monotonic clock; other machines are told how many seconds are left.
        partial: whether the cross-encoder may read fewer candidates than asked for.

    Example:
        >>> Deadline.after(20.0, partial=False).left() <= 20.0
        True
    """

    at: float
    partial: bool

    @classmethod
    def after(cls, seconds: float, *, partial: bool) -> Deadline:
        """The deadline so many seconds from now."""
        return cls(time.monotonic() + seconds, partial)

    def left(self) -> float:
        """Seconds from now; negative when it has passed."""
        return self.at - time.monotonic()

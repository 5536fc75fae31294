"""What a gateway knows of replicas that are full: until when none of a stage would take in a request of some size.

A replica that refuses a request because the wait would be too long says for how long that holds. While it holds of all
replicas, the next such request need not be passed on to be refused: the gateway refuses it, and the HTTP proxy those
that come later, see :mod:`cocite_serve.http.full_notes`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cocite_serve.http.problems import OverloadedError
from cocite_serve.replicas.refusals import FullError

LONGEST_S = 1.0
"""Seconds that a refusal is taken to hold at most: the queue is shorter at once where clients leave. A client that was
refused comes again after a second at the earliest anyway."""


@dataclass(frozen=True)
class _Refusal:
    until: float
    """Time of the clock until which it is taken to hold."""
    again: float
    """Time at which the request would be taken in, without new ones."""


class FullReplicas:
    """Refusals of the replicas of one stage.

    Args:
        replicas: that there may be. One of which nothing is known may take a request in.
        clock: as ``time.monotonic``.

    Attributes:
        tell: whether a refusal says for how long all replicas refuse: where no other release answers requests.

    Example:
        >>> full = FullReplicas(2, clock=lambda: 0.0)
        >>> full.refused("a", size=30, seconds=0.5)  # the other may have room
        0.0
        >>> full.refused("b", size=30, seconds=0.8)
        0.5
    """

    def __init__(self, replicas: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._replicas, self._clock, self.tell = replicas, clock, False
        self._refusals: dict[int, dict[str, _Refusal]] = {}

    def refused(self, replica: str, size: int, seconds: float) -> float:
        """Note a refusal.

        Args:
            replica: its name.
            size: of the request, in pairs: another size waits another time.
            seconds: for which the replica refuses such a request.

        Returns:
            Seconds for which each replica refuses one; 0: some replica may take it in.
        """
        now = self._clock()
        self._refusals[size] = self._held(size) | {
            replica: _Refusal(now + min(seconds, LONGEST_S), now + seconds)
        }
        return self._full_s(size)

    def _held(self, size: int) -> dict[str, _Refusal]:
        now = self._clock()
        return {name: held for name, held in self._refusals.get(size, {}).items() if held.until > now}

    def _full_s(self, size: int) -> float:
        held = self._held(size).values()
        return min(each.until for each in held) - self._clock() if len(held) >= self._replicas else 0.0

    def require_room(self, size: int) -> None:
        """Refuse a request that each replica would refuse.

        Raises:
            OverloadedError: with the seconds for which that holds.
        """
        if seconds := self._full_s(size):
            again = min(each.again for each in self._held(size).values()) - self._clock()
            raise OverloadedError("every replica is full", again, seconds if self.tell else 0.0)

    @contextmanager
    def noting(self, size: int) -> Iterator[None]:
        """Note a refusal that the block raises.

        Args:
            size: of the request, in pairs.

        Raises:
            OverloadedError: the refusal, with the seconds for which each replica refuses such a request.
        """
        try:
            yield
        except FullError as error:
            seconds = self.refused(error.replica, size, error.retry_s or 0.0)
            raise OverloadedError(str(error), error.retry_s, seconds if self.tell else 0.0) from error

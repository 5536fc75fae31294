"""Whether a replica's computing thread still computes: asked by Ray Serve, which replaces a replica that fails.

Progress is health: while requests are answered, nothing else is computed. Where none was answered for a while, because
none came or each raised an error, a golden query is computed in the thread. A check itself never waits for the thread,
so a busy replica answers it at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Protocol

from cocite_serve.replicas.compute_thread import ComputeThread

PERIOD_S = 1.0
"""Seconds between two checks."""
TIMEOUT_S = 2.0
"""Seconds within which a replica has to answer one. Ray Serve replaces it after three failures: within
``PERIOD_S + 3 * TIMEOUT_S`` where its process does not answer at all."""
QUIET_S = 15.0
"""Seconds without an answer after which a golden query is computed."""


class UnhealthyError(Exception):
    """The computing thread is stuck, or fails.

    Example:
        >>> str(UnhealthyError("a step has taken 31 s so far"))
        'a step has taken 31 s so far'
    """


class Progress(Protocol):
    """What computes steps; a :class:`~cocite_serve.replicas.worker.Worker`.

    Example:
        >>> class Idle:
        ...     began_s, ended_s, answered_s = None, 0.0, 0.0
        >>> Idle().began_s is None
        True
    """

    @property
    def began_s(self) -> float | None:
        """When the step under way began, by ``time.monotonic``; None: there is none."""

    @property
    def ended_s(self) -> float:
        """When the last step ended, whether or not it raised an error."""

    @property
    def answered_s(self) -> float:
        """When the last result was computed."""


class HealthCheck:
    """The health check of a replica; for its event loop.

    Args:
        thread: where steps are computed.
        steps: what is computed there.
        golden: computes a golden query, in the thread; what it raises makes the replica unhealthy.
        stuck_s: seconds that a step, or the golden query, may take.
        clock: as ``time.monotonic``.

    Example:
        >>> class Idle:
        ...     began_s, ended_s, answered_s = None, 0.0, 0.0
        >>> class Busy:
        ...     began_s, ended_s, answered_s = 60.0, 59.0, 59.0
        >>> thread = ComputeThread(models=False)
        >>> asyncio.run(HealthCheck(thread, Idle(), lambda: 1, stuck_s=30, clock=lambda: 10.0).check())
        >>> asyncio.run(HealthCheck(thread, Busy(), lambda: 1, stuck_s=30, clock=lambda: 91.0).check())
        Traceback (most recent call last):
        ...
        cocite_serve.replicas.health.UnhealthyError: a step has taken 31 s so far, and stuck_s is 30
    """

    def __init__(
        self,
        thread: ComputeThread,
        steps: Progress,
        golden: Callable[[], Any],
        stuck_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._thread, self._steps, self._golden = thread, steps, golden
        self._stuck_s, self._clock = stuck_s, clock
        self._asked: asyncio.Task[Any] | None = None
        self._asked_s = clock()
        self._failure: Exception | None = None

    async def check(self) -> None:
        """Return at once where the thread computes, or has nothing to do.

        Raises:
            UnhealthyError: a step or the golden query takes too long, or the golden query failed.
        """
        now = self._clock()
        if self._asked is not None and self._asked.done():
            error = self._asked.exception()
            self._failure = error if isinstance(error, Exception) else None
            self._asked = None
        self._require_progress(now)
        # Not the last step: one that raises ends too, and so a stage that always fails would pass for a busy one.
        quiet = now - max(self._steps.answered_s, self._asked_s) > QUIET_S
        if self._asked is None and (quiet or self._failure is not None):
            self._asked, self._asked_s = asyncio.create_task(self._thread.run(self._golden)), now
        if self._failure is not None:
            raise UnhealthyError(f"a golden query failed: {self._failure!r}") from self._failure

    def _require_progress(self, now: float) -> None:
        since = self._steps.began_s
        if since is None and self._asked is not None:
            # It may have waited for steps of requests.
            since = max(self._asked_s, self._steps.ended_s)
        if since is not None and now - since > self._stuck_s:
            raise UnhealthyError(
                f"a step has taken {now - since:.0f} s so far, and stuck_s is {self._stuck_s:g}"
            )

"""What the paths share: the backend of the moment, room for a request, and the time that it may take."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from cocite.errors import InputError
from cocite_serve.http.backend import Backend
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.metrics import GatewayMetrics
from cocite_serve.http.problems import OverloadedError, TooSlowError
from cocite_serve.settings import ServeSettings

T = TypeVar("T")


class Service:
    """A gateway's backend, settings and metrics, for the paths.

    Args:
        current: returns the backend to call now; a request calls it once, so that one backend answers all of it.
        settings: limits and defaults.
        metrics: counts the requests.

    Example:
        >>> service = Service(lambda: None, ServeSettings(index="index", request_timeout_s=5), metrics=None)
        >>> async def seconds(deadline):
        ...     return deadline.at - asyncio.get_running_loop().time() < 5.1
        >>> asyncio.run(service.within(None, seconds))
        True
    """

    def __init__(
        self, current: Callable[[], Backend], settings: ServeSettings, metrics: GatewayMetrics
    ) -> None:
        self.current, self.settings, self.metrics = current, settings, metrics
        self._under_way = 0

    def named(self, release: str | None) -> Backend:
        """The release that a request names, or the served one; raises InputError where none is called so."""
        backend = self.current()
        return backend if release is None else backend.chosen(release, "")

    @contextmanager
    def room(self) -> Iterator[None]:
        """Refuse a request while there are as many in the gateway as may be.

        Raises:
            OverloadedError: there are.
        """
        if self._under_way >= self.settings.gateway.max_requests:
            raise OverloadedError(f"{self._under_way} requests are in the gateway")
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def within(
        self,
        deadline_ms: int | None,
        work: Callable[[Deadline], Awaitable[T]],
        *,
        partial: bool = False,
    ) -> T:
        """The result of a call to the backend, where there is room, in the time that the request has.

        Args:
            deadline_ms: of the request; None: the server's own.
            work: the call.
            partial: whether a result that is less, but in time, will do.

        Raises:
            OverloadedError: there is no room.
            TooSlowError: it took longer.
        """
        most = self.settings.request_timeout_s
        seconds = min((deadline_ms or math.inf) / 1000, most)
        with self.room():
            try:
                async with asyncio.timeout(most):
                    return await work(Deadline.after(seconds, partial=partial))
            except TimeoutError as error:
                raise TooSlowError(seconds) from error

    def check_count(self, count: int, field: str, most: int) -> None:
        """Refuse a list of more than ``most`` values; ``field`` is its name."""
        if count > most:
            raise InputError(f"at most {most:,} are allowed, got {count:,}", where=field)

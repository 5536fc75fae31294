"""An event loop whose clock is not the machine's: what is waited for takes no time, and is as late as it should be."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """Where there is nothing to do before the next timer, the time is that of the timer at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(None if timeout is None else 0)
        if not found and timeout:
            self.now += timeout
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its seconds pass only while nothing can be done. Other clocks, as ``time.monotonic``, are the machine's."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def in_virtual_time(work: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``, with a loop whose sleeps and timeouts take no time and come in their order."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)

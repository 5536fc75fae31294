"""Calls a stage of this process as Ray Serve's handle calls that of a replica."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from typing import Any


class LocalCall:
    """A call under way in an event loop: awaited there, or waited for in another thread.

    Example:
        See :class:`LocalHandle`.

        >>> future = Future()
        >>> LocalCall(future).cancel()
        >>> future.cancelled()
        True
    """

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self._future).__await__()

    def result(self, timeout_s: float | None = None) -> Any:
        """What the call returns, waited for; raises what it raises, and TimeoutError after so many seconds."""
        return self._future.result(timeout_s)

    def cancel(self) -> None:
        """Tell the stage that its caller has left."""
        self._future.cancel()


class LocalMethod:
    """A method of a stage.

    Example:
        See :class:`LocalHandle`.

        >>> LocalMethod(None, None).remote.__name__
        'remote'
    """

    def __init__(
        self, method: Callable[..., Coroutine[Any, Any, Any]], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._method, self._loop = method, loop

    def remote(self, *arguments: Any) -> LocalCall:
        """Call it in the event loop; returns at once."""
        return LocalCall(asyncio.run_coroutine_threadsafe(self._method(*arguments), self._loop))


class LocalHandle:
    """A stage whose methods are called as those of Ray Serve's ``DeploymentHandle``.

    Args:
        stage: its methods are coroutines.
        loop: where they run.

    Example:
        >>> class Stage:
        ...     async def double(self, number): return 2 * number
        >>> async def four():
        ...     return await LocalHandle(Stage(), asyncio.get_running_loop()).double.remote(2)
        >>> asyncio.run(four())
        4
    """

    def __init__(self, stage: object, loop: asyncio.AbstractEventLoop) -> None:
        self._stage, self._loop = stage, loop

    def __getattr__(self, name: str) -> LocalMethod:
        return LocalMethod(getattr(self._stage, name), self._loop)

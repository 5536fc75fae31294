"""Calls a stage of this process as Ray Serve's handle calls that of a replica."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

Begin = Callable[[Coroutine[Any, Any, Any]], Any]
"""Begins a call, and returns what stands for it."""


class LocalCall:
    """A call under way in the event loop of another thread than the one that waits for it.

    Example:
        See :func:`from_threads`.

        >>> future = Future()
        >>> LocalCall(future).cancel()
        >>> future.cancelled()
        True
    """

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

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

    def __init__(self, method: Callable[..., Coroutine[Any, Any, Any]], begin: Begin) -> None:
        self._method, self._begin = method, begin

    def remote(self, *arguments: Any) -> Any:
        """Begin a call, and return at once what stands for it."""
        return self._begin(self._method(*arguments))


class LocalHandle:
    """A stage whose methods are called as those of Ray Serve's ``DeploymentHandle``.

    Args:
        stage: its methods are coroutines.
        begin: ``asyncio.create_task`` for who runs in the event loop of the stage: a task can be awaited and cancelled
            as a call of Ray Serve's. For others :func:`from_threads`.

    Example:
        >>> class Stage:
        ...     async def double(self, number): return 2 * number
        >>> async def four():
        ...     return await LocalHandle(Stage(), asyncio.create_task).double.remote(2)
        >>> asyncio.run(four())
        4
    """

    def __init__(self, stage: object, begin: Begin) -> None:
        self._stage, self._begin = stage, begin

    def __getattr__(self, name: str) -> LocalMethod:
        return LocalMethod(getattr(self._stage, name), self._begin)


def from_threads(loop: asyncio.AbstractEventLoop) -> Begin:
    """What begins calls in an event loop for other threads, which wait for them.

    Example:
        >>> class Stage:
        ...     async def double(self, number): return 2 * number
        >>> async def four():
        ...     handle = LocalHandle(Stage(), from_threads(asyncio.get_running_loop()))
        ...     return await asyncio.to_thread(lambda: handle.double.remote(2).result(timeout_s=10))
        >>> asyncio.run(four())
        4
    """
    return lambda call: LocalCall(asyncio.run_coroutine_threadsafe(call, loop))

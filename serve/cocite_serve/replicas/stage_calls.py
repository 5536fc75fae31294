"""A gateway's call of a stage: for whom it is, what becomes of it when its caller leaves, and another attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ray.exceptions import RayActorError

from cocite_serve.proxy import PAUSES_S
from cocite_serve.tracing.origins import Origins
from cocite_serve.tracing.spans import span


async def result_of(name: str, call: Callable[[Origins], Any]) -> Any:
    """The result of a call to a stage, which is told for whom; when the caller is cancelled, the stage is told so.

    Where the replica died that the call met, another one is asked: no stage does anything but read.

    Args:
        name: of the call, for its span.
        call: makes it, and returns Ray Serve's response.

    Raises:
        RayActorError: replicas died under all attempts.
        Exception: what the stage raised.

    Example:
        >>> class Response:
        ...     def __await__(self):
        ...         yield from ()
        ...         return 5
        >>> asyncio.run(result_of("retriever.retrieve", lambda origins: Response()))
        5
    """
    with span(name, kind="client") as spans:
        for attempt, pause in enumerate(PAUSES_S, 1):
            try:
                return await _response(call(spans.origins))
            except RayActorError:
                spans.set({"cocite.died": attempt})
                await asyncio.sleep(pause)
        return await _response(call(spans.origins))


async def fact_of(stage: str, handle: Any, method: str) -> Any:
    """What a stage says of itself, such as its versions; asked again where its replica died.

    Args:
        stage: its name, for the span of the call.
        handle: Ray Serve's handle of it.
        method: takes no arguments.

    Raises:
        RayActorError, Exception: as of :func:`result_of`.

    Example:
        >>> class Handle:
        ...     class versions:
        ...         @staticmethod
        ...         async def remote(): return "5f0c"
        >>> asyncio.run(fact_of("retriever", Handle, "versions"))
        '5f0c'
    """
    return await result_of(f"{stage}.{method}", lambda _: getattr(handle, method).remote())


async def _response(response: Any) -> Any:
    try:
        return await response
    except asyncio.CancelledError:
        response.cancel()
        raise

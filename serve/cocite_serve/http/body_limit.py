"""Limits on the size of a body, on the time in which it comes, and on what all that are held take together."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cocite_serve.http.problem_body import overloaded, problem

DRAFT_PATH = "/v1/draft"
DRAFT_TEXT_PATH = "/v1/draft/text"
DRAFT_FINISHED_PATH = "/v1/draft/finished"
DRAFT_PATHS = (DRAFT_PATH, DRAFT_TEXT_PATH, DRAFT_FINISHED_PATH)
"""The paths whose bodies have a limit of their own."""


class BodyLimit:
    """Middleware that refuses a body above a size, by its declared length or as soon as more has come in, or too late.

    Args:
        app: the application behind it.
        limit: bytes.
        seconds: within which the whole body has to come.
        larger: path -> the limit of paths that have another one.
        arriving_bytes: that all bodies which are not whole yet may take together.
        at_once: requests of those paths whose bodies are in memory; one more is refused before it is read.
        retry_after_s: seconds after which that may try again.

    Example:
        >>> from fastapi import FastAPI
        >>> from starlette.testclient import TestClient
        >>> app = FastAPI()
        >>> app.add_middleware(BodyLimit, limit=1000)
        >>> TestClient(app).post("/", content=b"x" * 1001).json()["error"]
        "The request's body is larger than the 1,000 bytes allowed."
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: int,
        seconds: float = math.inf,
        larger: Mapping[str, int] | None = None,
        *,
        arriving_bytes: int = 256 * 1024**2,
        at_once: int = 16,
        retry_after_s: int = 1,
    ) -> None:
        self.app = app
        self.limit, self.seconds, self.larger = limit, seconds, larger or {}
        self.retry_after_s = retry_after_s
        self._arriving = ArrivingBytes(arriving_bytes, retry_after_s)
        self._held = HeldBodies(at_once)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on with its body read."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.larger.get(scope["path"])
        if limit is None:
            await self._pass_on(scope, receive, send, self.limit)
        elif self._held.full:
            await overloaded(scope, self.retry_after_s)(scope, receive, send)
        else:
            with self._held.one() as free:

                async def begun(message: Message) -> None:
                    free()
                    await send(message)

                await self._pass_on(scope, receive, begun, limit)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        body = await read_body(scope, receive, limit, self.seconds, self._arriving)
        if isinstance(body, Response):
            await body(scope, receive, send)
        elif body is not None:
            passed = replay(body, receive)
            del body  # an answer in lines takes long, and needs it no more
            await self.app(scope, passed, send)


class HeldBodies:
    """How many large bodies are in memory: each until its answer begins, and not while that is read slowly.

    Args:
        at_once: how many there may be.

    Example:
        >>> held = HeldBodies(1)
        >>> with held.one() as free:
        ...     print(held.full)
        ...     free()
        ...     print(held.full)
        True
        False
    """

    def __init__(self, at_once: int) -> None:
        self._at_once, self._count = at_once, 0

    @property
    def full(self) -> bool:
        """Whether one more would be too many."""
        return self._count >= self._at_once

    @contextmanager
    def one(self) -> Iterator[Callable[[], None]]:
        """Hold one until the block ends, or until it calls what it is given."""
        is_held = True

        def free() -> None:
            nonlocal is_held
            self._count -= is_held
            is_held = False

        self._count += 1
        try:
            yield free
        finally:
            free()


class ArrivingBytes:
    """What has arrived of all bodies that are not whole yet: clients who send slowly fill no memory together.

    Args:
        limit: bytes. One body alone may always arrive.
        retry_after_s: seconds after which a client whose body was one too many may try again.

    Example:
        >>> arriving = ArrivingBytes(100, 1)
        >>> with arriving.one() as first, arriving.one() as second:
        ...     print(first(60), second(30), second(30))
        True True False
        >>> with arriving.one() as alone:
        ...     print(alone(1000))
        True
    """

    def __init__(self, limit: int, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        self._limit, self._bytes = limit, 0

    @contextmanager
    def one(self) -> Iterator[Callable[[int], bool]]:
        """One body while the block runs: says of each part, by its length, whether there is room for it."""
        own = 0

        def more(length: int) -> bool:
            nonlocal own
            own += length
            self._bytes += length
            return self._bytes <= self._limit or self._bytes == own

        try:
            yield more
        finally:
            self._bytes -= own


async def read_body(
    scope: Scope, receive: Receive, limit: int, seconds: float, arriving: ArrivingBytes
) -> bytes | Response | None:
    """The body of a request; the response that refuses it; None when the client has gone.

    Args:
        scope, receive: of the request.
        limit: bytes.
        seconds: within which the whole body has to come.
        arriving: what all bodies that are read at the same time may take.

    Example:
        >>> async def receive():
        ...     return {"type": "http.request", "body": b"{}"}
        >>> scope, arriving = {"type": "http", "headers": []}, ArrivingBytes(100, 1)
        >>> asyncio.run(read_body(scope, receive, limit=10, seconds=1.0, arriving=arriving))
        b'{}'
    """
    declared = Headers(scope=scope).get("content-length", "0")
    if not declared.isdigit() or int(declared) > limit:
        return _too_large(scope, limit)
    body, more = bytearray(), True
    try:
        with arriving.one() as has_room:
            async with asyncio.timeout(seconds if math.isfinite(seconds) else None):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    # Taken out: `ASGIReceiveProxy` of Ray Serve keeps the message until the client leaves.
                    part = message.pop("body", b"")
                    if len(body) + len(part) > limit:
                        return _too_large(scope, limit)
                    if not has_room(len(part)):
                        return overloaded(scope, arriving.retry_after_s)
                    body += part
                    more = message.get("more_body", False)
    except TimeoutError:
        text = f"The request's body did not come within the {seconds:g} s allowed"
        # What comes of it later must not be read as another request.
        return problem(scope, 408, text, headers={"Connection": "close"})
    return bytes(body)


def replay(body: bytes, receive: Receive) -> Receive:
    """What an application receives whose request's body was read already: the body once, then what comes.

    Example:
        >>> async def receive():
        ...     return {"type": "http.disconnect"}
        >>> again = replay(b"{}", receive)
        >>> asyncio.run(again())["body"], asyncio.run(again())["type"]
        (b'{}', 'http.disconnect')
    """
    parts = [body]
    del body

    async def replayed() -> Message:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        return await receive()

    return replayed


def _too_large(scope: Scope, limit: int) -> Response:
    return problem(scope, 413, f"The request's body is larger than the {limit:,} bytes allowed")

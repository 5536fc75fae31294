"""What is known of the request under way: its id, who sent it, and what answered it.

The id is the client's ``X-Request-ID`` where that is short printable ASCII, else a new one. It is in the response's
header, in every refusal, in the answer of ``/v1/recommend`` and in every log line of the request.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "X-Request-ID"
_KEY = "cocite.context"
_WELL_FORMED = re.compile(r"[!-~]{1,128}")


@dataclass
class RequestContext:
    """A request under way.

    Attributes:
        id: of the request.
        key: name of the API key that it was sent with.
        facts: what its log line tells besides: milliseconds of the stages, versions.
        afterwards: what to begin once its response was sent.

    Example:
        >>> RequestContext("5f0c").facts
        {}
    """

    id: str
    key: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    afterwards: list[Callable[[], None]] = field(default_factory=list)


_CURRENT: ContextVar[RequestContext | None] = ContextVar("cocite request", default=None)


def well_formed(id: str | None) -> str | None:
    """An id as it may be logged and sent back; None where it is missing, too long, or no printable ASCII.

    Example:
        >>> well_formed("5f0c-1"), well_formed("two words"), well_formed("x" * 129)
        ('5f0c-1', None, None)
    """
    return id if id is not None and _WELL_FORMED.fullmatch(id) else None


def context_of(scope: Scope) -> RequestContext:
    """The context of a request by its scope; a new one where no :class:`Identify` has seen it.

    Example:
        >>> scope = {"type": "http", "headers": [(b"x-request-id", b"5f0c")]}
        >>> context_of(scope).id
        '5f0c'
    """
    context = scope.get(_KEY)
    if context is None:
        context = RequestContext(well_formed(Headers(scope=scope).get(HEADER)) or str(uuid.uuid4()))
        scope[_KEY] = context
    return context


def current() -> RequestContext:
    """The context of the request that this task answers; an empty one outside of requests.

    Example:
        >>> current().id
        ''
    """
    return _CURRENT.get() or RequestContext("")


class Identify:
    """Middleware that gives each request its context, and its response the header ``X-Request-ID``.

    Args:
        app: the application behind it.

    Example:
        >>> from fastapi import FastAPI
        >>> from starlette.testclient import TestClient
        >>> app = FastAPI()
        >>> app.add_middleware(Identify)
        >>> TestClient(app).get("/", headers={"X-Request-ID": "5f0c"}).headers["x-request-id"]
        '5f0c'
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its context."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        context = context_of(scope)

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = context.id
            await send(message)

        token = _CURRENT.set(context)
        try:
            await self.app(scope, receive, add)
        finally:
            _CURRENT.reset(token)
        for begin in context.afterwards:
            begin()

"""The heads of requests come within a time and a size, and on so many connections at most, or the server refuses them.

uvicorn waits for the head of a request as long as the client keeps the connection open, takes as many header fields as
are sent, and accepts every connection. So a stranger could hold the server's memory and its file descriptors with
requests that never begin. What a body may be is limited behind it (:mod:`cocite_serve.http.body_limit`).

Source: ``HttpToolsProtocol`` in uvicorn's ``protocols/http/httptools_impl.py`` (0.54).
"""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn.config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from cocite_serve.http.problem_body import phrase, problem
from cocite_serve.settings import Limits

LATER_S = 1
"""Seconds after which a client may connect again."""


class BoundedHeads(HttpToolsProtocol):
    """HTTP/1.1 on one connection; a class of its own for each :class:`~cocite_serve.settings.Limits`.

    A connection on which nothing comes is closed without an answer. What has begun and does not end in time is answered
    408, a head that is too long 431, and a connection too many 503; then the connection is closed.

    Example:
        >>> protocol = bounded_heads(Limits(head_s=5))
        >>> protocol.limits.head_s
        5.0
    """

    limits = Limits()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._head_bytes: int | None = 0  # None: no head is expected or under way
        self._begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection in, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "The endpoint has too many open connections; try again", "overloaded")
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came. A part of a head counts until the head is whole."""
        if self.transport.is_closing():
            return
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > self.limits.head_bytes:
            limit = f"{self.limits.head_bytes:,}"
            self._refuse(431, f"The head of the request is longer than {limit} bytes", "head_too_large")

    def on_message_begin(self) -> None:
        """Begin the head of a request; a later one on the connection is expected from here on."""
        super().on_message_begin()
        if self._head_bytes is None:
            self._await_head()
        self._begun = True

    def on_headers_complete(self) -> None:
        """End the head."""
        self._stop_timer()
        self._head_bytes = None
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the form of all other refusals."""
        self._refuse(400, msg)

    def _await_head(self) -> None:
        self._head_bytes, self._begun = 0, False
        self._timer = self.loop.call_later(self.limits.head_s, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        if self._begun:
            seconds = f"{self.limits.head_s:g}"
            self._refuse(
                408, f"The head of the request did not come within {seconds} seconds", "head_too_slow"
            )
        else:
            self.transport.close()

    def _refuse(self, status: int, error: str, reason: str | None = None) -> None:
        """Answer what has no request yet, and close the connection. While another request of it is answered, only
        close it: what is written now would be taken for a part of that answer."""
        self._stop_timer()
        self._head_bytes = None
        if self.cycle is None or self.cycle.response_complete:
            scope = {"type": "http", "path": "/", "headers": []}
            later = {"Retry-After": str(LATER_S)} if status == 503 else {}
            answer = problem(scope, status, error, headers={**later, "Connection": "close"}, reason=reason)
            lines = [f"HTTP/1.1 {status} {phrase(status)}".encode()]
            lines += [name + b": " + value for name, value in answer.raw_headers]
            self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self.transport.close()


def bounded_heads(limits: Limits) -> type[BoundedHeads]:
    """The protocol of a server with these limits, for ``uvicorn.Config(http=…)``."""
    return type("BoundedHeads", (BoundedHeads,), {"limits": limits})


def bound_all_heads(limits: Limits) -> None:
    """Let the servers that this process starts later, and that name no protocol, have these limits.

    Ray Serve makes its proxy's server itself, and has no setting for the protocol.
    """
    uvicorn.config.HTTP_PROTOCOLS["auto"] = bounded_heads(limits)  # type: ignore[assignment]

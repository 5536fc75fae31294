"""What the HTTP proxy knows of requests that would be refused: kinds of request for which every replica is full.

A refusal passes through the proxy, a gateway and a replica of the reranker, which takes as much CPU time as a part of
an answer. At ten times the capacity nine of ten requests are refused, so one refusal stands for those that follow: a
gateway says in a header for how long each replica would refuse such a request, and until then the proxy does.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cocite_serve.http.own_refusals import OwnRefusals
from cocite_serve.http.problem_body import overloaded

FULL_HEADER = "X-Cocite-Full"
"""Header of a gateway's 429: seconds for which every replica would refuse such a request. It ends at the proxy."""
PATH = "/v1/recommend"
"""The path whose requests are admitted by their number of pairs."""
MOST_KINDS = 1_000
"""Kinds of request that are kept: a client may name any ``rerank``."""
_UNLIKE = ("text", "page", "release")
"""Fields on whose values it depends how many pairs a request has, or which replicas would read them."""
_NUMBERS = ("rerank", "depth", "K")


@dataclass(frozen=True)
class _Full:
    until: float
    """Time of the clock until which each replica refuses."""
    again: float
    """Time at which the refused client was told to come again."""


class FullNotes:
    """Kinds of request that would be refused now.

    Args:
        clock: as ``time.monotonic``.

    Example:
        >>> now = 0.0
        >>> notes, body = FullNotes(lambda: now), b'{"context": "as in [CIT]", "rerank": 30}'
        >>> notes.add(body, seconds=0.5, after=2)
        >>> notes.after(b'{"context": "as was shown by [CIT]", "rerank": 30}')
        2
        >>> print(notes.after(b'{"context": "as in [CIT]", "rerank": 5}'))
        None
        >>> now = 0.6
        >>> print(notes.after(body))
        None
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full: dict[Hashable, _Full] = {}

    def add(self, body: bytes, seconds: float, after: int) -> None:
        """Note that requests like one are refused.

        Args:
            body: of the request.
            seconds: for which they are.
            after: seconds after which its client was told to try again.
        """
        now = self._clock()
        self._full = {kind: full for kind, full in self._full.items() if full.until > now}
        if len(self._full) < MOST_KINDS and (kind := _kind(body)) is not None:
            self._full[kind] = _Full(now + seconds, now + after)

    def after(self, body: bytes) -> int | None:
        """Seconds after which a client should try again whose request is refused; None: it may be taken in."""
        if not self._full:  # nearly always; a body is parsed where it may matter
            return None
        full, now = self._full.get(_kind(body)), self._clock()
        if full is None or full.until <= now:
            return None
        return max(1, math.ceil(full.again - now))


class RefuseWhenFull:
    """Middleware of the proxy that refuses what a gateway would have refused, by what gateways have said before.

    Args:
        app: Ray Serve's proxy; a request's whole body comes in one message.
        refusals: sends what is refused.
        clock: as ``time.monotonic``.

    Example:
        >>> from starlette.responses import JSONResponse
        >>> from starlette.testclient import TestClient
        >>> full = JSONResponse({}, 429, {"Retry-After": "2", FULL_HEADER: "0.5"})  # of a gateway
        >>> client = TestClient(RefuseWhenFull(full, OwnRefusals((PATH,))))
        >>> answers = [client.post("/v1/recommend", json={"context": "as in [CIT]"}) for _ in range(2)]
        >>> [answer.headers["retry-after"] for answer in answers], answers[1].json()["reason"]
        (['2', '2'], 'overloaded')
    """

    def __init__(
        self, app: ASGIApp, refusals: OwnRefusals, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app, self._refusals, self._notes = app, refusals, FullNotes(clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on and note how it was answered; the header of any answer ends here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body: bytes | None = None
        if (scope["method"], scope["path"]) == ("POST", PATH):
            message = await receive()
            body = message.get("body", b"")
            if (after := self._notes.after(body)) is not None:
                await self._refusals.send(overloaded(scope, after), scope, receive, send)
                return
            receive = _again(message, receive)

        async def noted(answer: Message) -> None:
            if answer["type"] == "http.response.start" and answer["status"] == 429:
                self._note(body, MutableHeaders(scope=answer))
            await send(answer)

        await self._app(scope, receive, noted)

    def _note(self, body: bytes | None, headers: MutableHeaders) -> None:
        """Note a refusal of a request; None: its path is not that of the requests that are noted."""
        if FULL_HEADER in headers:
            if body is not None:
                self._notes.add(body, float(headers[FULL_HEADER]), int(headers["Retry-After"]))
            del headers[FULL_HEADER]


def _again(message: Message, receive: Receive) -> Receive:
    """What an application receives: a message that was taken already, then what comes."""
    left = [message]

    async def received() -> Message:
        return left.pop() if left else await receive()

    return received


def _kind(body: bytes) -> Hashable | None:
    """What requests of the same pairs have in common; None: the body alone does not say."""
    try:
        fields: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or any(fields.get(name) for name in _UNLIKE):
        return None
    numbers = tuple(fields.get(name) for name in _NUMBERS)
    if not all(number is None or type(number) is int for number in numbers):
        return None
    seeds, paper = (
        any(fields.get(name) for name in pair) for pair in (("like", "dislike"), ("title", "abstract"))
    )
    return bool(fields.get("context")), seeds, paper, *numbers

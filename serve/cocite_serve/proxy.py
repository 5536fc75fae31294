"""What Ray Serve's HTTP proxy does with a request before and after a gateway answers it.

The proxy is the process that clients connect to. It passes on a request before its body is there; when a gateway's
process dies it ends the request with nothing (which the HTTP server makes a 500); and while no gateway runs it answers
404 in plain text. Here the body is read first, within its limits; the second is asked of another gateway, since no
request of the API changes anything; and all answers of the proxy's own get the API's form, a count and a line in the
log. What is sure to be refused, and what nobody waits for any more, is not passed on.

Source: ``GenericProxy`` and ``HTTPProxy`` in Ray's ``serve/_private/proxy.py`` (2.60). The proxy gets its middleware
from the function that the environment names in ``RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH``.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import Field
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cocite.bounds import FilePath, Seconds
from cocite.config import Settings
from cocite_serve.http.body_limit import DRAFT_PATHS, ArrivingBytes, HeldBodies, read_body, replay
from cocite_serve.http.bounded_heads import bound_all_heads
from cocite_serve.http.full_notes import PATH, RefuseWhenFull
from cocite_serve.http.own_refusals import BEGAN, OwnRefusals
from cocite_serve.http.problem_body import overloaded, problem
from cocite_serve.http.request_context import HEADER, context_of
from cocite_serve.settings import Limits, LogSettings, ServeSettings

CALLBACK = "cocite_serve.proxy.middlewares"
"""For ``RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH``, which the proxy's process reads when it starts."""
VARIABLE = "COCITE_PROXY"
"""Environment variable that holds :class:`ProxySettings` as JSON."""
PAUSES_S = (0.0, 0.1, 0.5)
"""Seconds before each further attempt: Ray Serve may choose a dead replica again until it has heard of its death."""
TURNS = 2
"""Of the event loop, in which a departure is seen before the request is passed on."""
OWN_PATHS = "/-/"
"""Paths of the proxy itself: its health and its routes."""
COUNTED_PATHS = (PATH, "/v1/recommend/batch", "/v1/rerank", "/v1/embed", *DRAFT_PATHS)
"""Paths that the metrics and the log of the proxy's own refusals name; a client may send any other."""
SERVES_OWN = frozenset(
    (
        b"serve-multiplexed-model-id",
        b"x-session-id",
        b"x-request-timeout-seconds",
        b"x-request-disconnect-disabled",
    )
)
"""Fields of a request's head, ``_`` as ``-``, by which whoever sends it tells Ray Serve how to pass it on: without a
limit of time, say, or also when its client has left. Of each model that it names the proxy keeps a request for ever."""
NOT_READY = "The endpoint is starting or ending; try again"
Begun = Callable[[], None]
"""Called when the answer to a request begins."""


class ProxySettings(Settings):
    """What the proxy has to know of the endpoint's settings.

    Example:
        >>> ProxySettings().body_s
        10.0
    """

    connections: Annotated[int, Field(ge=1, le=1_000_000)] = Limits().connections
    """Connections that are open at once."""
    head_bytes: Annotated[int, Field(ge=1, le=1024**2)] = Limits().head_bytes
    """Bytes of the head of a request."""
    head_s: Seconds = Limits().head_s
    """Seconds within which it has to come."""
    body_bytes: Annotated[int, Field(ge=1, le=1024**3)] = Limits().body_bytes
    """Bytes of a body."""
    draft_bytes: Annotated[int, Field(ge=1, le=1024**3)] = Limits().draft_bytes
    """Bytes of the body of a draft."""
    body_s: Seconds = Limits().body_s
    """Seconds within which it has to come."""
    arriving_bytes: Annotated[int, Field(ge=1, le=1024**4)] = Limits().arriving_bytes
    """Bytes of all bodies that are not whole yet."""
    drafts: Annotated[int, Field(ge=1, le=10**10)] = Limits().drafts_waiting
    """Bodies of drafts in the proxy's memory, as many as all gateways together take in; one more is answered 429
    before it is read."""
    retry_after_s: Annotated[int, Field(ge=0, le=86_400)] = 1
    """Seconds after which a client may try again."""
    logs: LogSettings = Field(default_factory=LogSettings)
    """Where it writes a line for each request that it answers itself."""
    ending: FilePath | None = None
    """A file that is there once the endpoint is ending, and its proxy with it: a request that was passed on then might
    wait for a gateway that is gone. None: the proxy belongs to a cluster and outlives the endpoint. It learns from Ray
    Serve that no gateway is left, and answers 503."""


def environment(settings: ServeSettings, ending: Path | None = None) -> dict[str, str]:
    """What the environment of Ray has to hold besides :data:`CALLBACK`.

    Args:
        settings: of the endpoint.
        ending: as of :class:`ProxySettings`.

    Example:
        >>> list(environment(ServeSettings(index="index")))
        ['COCITE_PROXY']
    """
    limits = settings.limits
    proxy = ProxySettings(
        connections=limits.connections,
        head_bytes=limits.head_bytes,
        head_s=limits.head_s,
        body_bytes=limits.body_bytes,
        draft_bytes=limits.draft_bytes,
        body_s=limits.body_s,
        arriving_bytes=limits.arriving_bytes,
        drafts=limits.drafts_waiting * settings.gateway.most,
        retry_after_s=settings.retry_after_s,
        logs=settings.logs,
        ending=ending,
    )
    return {VARIABLE: proxy.model_dump_json()}


def middlewares() -> list[Middleware]:
    """What Ray Serve puts before its proxy.

    Example:
        >>> [middleware.cls.__name__ for middleware in middlewares()]
        ['RefuseWhenFull', 'AnswerOnce']
    """
    settings = ProxySettings.model_validate_json(os.environ.get(VARIABLE, "{}"))
    # Ray asks for the middleware before it makes the server, in the same process.
    bound_all_heads(
        Limits(connections=settings.connections, head_bytes=settings.head_bytes, head_s=settings.head_s)
    )
    refusals = OwnRefusals(COUNTED_PATHS, settings.logs)
    # Ray puts what comes later around what comes before.
    return [
        Middleware(RefuseWhenFull, refusals=refusals),
        Middleware(AnswerOnce, settings=settings, refusals=refusals),
    ]


class AnswerOnce:
    """Middleware by which every request gets one answer in the API's form, also where a gateway dies under it.

    Args:
        app: Ray Serve's proxy.
        settings: limits.
        refusals: sends what the proxy answers by itself.

    Example:
        >>> from starlette.testclient import TestClient
        >>> async def no_gateway(scope, receive, send):
        ...     pass  # as the proxy, when the process of a gateway has died
        >>> once = AnswerOnce(no_gateway, ProxySettings(retry_after_s=2), OwnRefusals(()))
        >>> answer = TestClient(once).get("/v1/health")
        >>> answer.status_code, answer.headers["retry-after"], answer.json()["reason"]
        (503, '2', 'not_ready')
    """

    def __init__(self, app: ASGIApp, settings: ProxySettings, refusals: OwnRefusals) -> None:
        self._app, self._settings, self._refusals = app, settings, refusals
        self._drafts = HeldBodies(settings.drafts)
        self._arriving = ArrivingBytes(settings.arriving_bytes, settings.retry_after_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, again if there was no answer."""
        if scope["type"] != "http" or scope["path"].startswith(OWN_PATHS):
            await self._app(scope, receive, send)
            return
        if self._settings.ending is not None and self._settings.ending.exists():
            await self._not_ready(scope, receive, send)
            return
        # The gateway's process gets the scope, so what is noted for this one stays out of it.
        passed = dict(scope)
        passed["headers"] = [
            field for field in scope["headers"] if field[0].lower().replace(b"_", b"-") not in SERVES_OWN
        ]
        scope[BEGAN] = time.perf_counter()
        MutableHeaders(scope=passed)[HEADER] = context_of(scope).id
        if (name := _undecodable(passed)) is not None:
            refusal = problem(scope, 400, f"The header {name} is not UTF-8")
            await self._refusals.send(refusal, scope, receive, send)
            return
        if scope["path"] not in DRAFT_PATHS:
            await self._read(scope, passed, receive, send, self._settings.body_bytes)
        elif self._drafts.full:
            refusal = overloaded(scope, self._settings.retry_after_s)
            await self._refusals.send(refusal, scope, receive, send)
        else:
            with self._drafts.one() as free:
                await self._read(scope, passed, receive, send, self._settings.draft_bytes, free)

    async def _read(
        self,
        scope: Scope,
        passed: Scope,
        receive: Receive,
        send: Send,
        limit: int,
        begun: Begun = lambda: None,
    ) -> None:
        """Read the body and pass it on, unless its client has left; ``begun`` is called when the answer begins."""
        body = await read_body(scope, receive, limit, self._settings.body_s, self._arriving)
        if isinstance(body, Response):
            await self._refusals.send(body, scope, receive, send)
            return
        if body is None:
            return
        client, kept = _Client(receive), [body]
        del body  # an answer in lines takes long, and needs it no more
        try:
            if not await client.has_left():
                await self._ask(scope, passed, client, send, kept, begun)
        finally:
            client.forget()

    async def _ask(
        self, scope: Scope, passed: Scope, client: _Client, send: Send, body: list[bytes], begun: Begun
    ) -> None:
        def forget_body() -> None:
            body.clear()
            begun()

        for pause in (None, *PAUSES_S):
            if pause is not None:
                await asyncio.sleep(pause)
            answer = _Answer(
                scope, client.receive, send, self._settings.retry_after_s, forget_body, self._refusals
            )
            # The proxy notes its own in the scope: each attempt gets one of its own.
            await self._app(dict(passed), replay(body[0], client.receive), answer.send)
            if await answer.end() or client.left:
                return
        await self._not_ready(scope, client.receive, send)

    async def _not_ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        after = {"Retry-After": str(self._settings.retry_after_s)}
        await self._refusals.send(problem(scope, 503, NOT_READY, headers=after), scope, receive, send)


class _Client:
    """Whether the client of a request whose body was read has left.

    Args:
        receive: of the request.
    """

    def __init__(self, receive: Receive) -> None:
        self._next = asyncio.ensure_future(receive())

    @property
    def left(self) -> bool:
        """Whether it is known to have left."""
        return self._next.done() and self._next.result()["type"] == "http.disconnect"

    async def has_left(self) -> bool:
        """Whether it has left, by all that has arrived so far."""
        # What one turn of a busy event loop reads of a connection's end, the next one tells.
        for _ in range(TURNS):
            await asyncio.sleep(0)
        return self.left

    async def receive(self) -> Message:
        """What comes after the body: that the client has left."""
        return await asyncio.shield(self._next)

    def forget(self) -> None:
        """Wait for it no longer."""
        self._next.cancel()


class _Answer:
    """One attempt: passes a gateway's answer on, and keeps back what the proxy answers by itself."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        retry_after_s: int,
        begun: Begun,
        refusals: OwnRefusals,
    ) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._retry_after_s, self._tell, self._refusals = retry_after_s, begun, refusals
        self._begun = False
        self._replaced: Response | None = None

    async def send(self, message: Message) -> None:
        """Take the next message of the answer."""
        if message["type"] == "http.response.start":
            self._begun = True
            self._tell()
            headers = Headers(scope={"headers": message.get("headers", [])})
            # The gateways' refusals are JSON, all of them.
            if message["status"] >= 400 and headers.get("content-type", "").startswith("text/plain"):
                self._replaced = self._translated(message["status"], headers)
            else:
                # The proxy adds the id to a response that has it already.
                MutableHeaders(scope=message)[HEADER] = context_of(self._scope).id
        if self._replaced is None:
            await self._send(message)

    async def end(self) -> bool:
        """Whether the client has its answer."""
        if self._replaced is not None:
            await self._refusals.send(self._replaced, self._scope, self._receive, self._send)
        return self._begun

    def _translated(self, status: int, headers: Headers) -> Response:
        after = {"Retry-After": headers.get("retry-after") or str(self._retry_after_s)}
        if status == 429:
            return problem(self._scope, 429, "Too many requests are waiting; try again", headers=after)
        if status == 408:  # the proxy's word for its own limit, request_timeout_s and ten seconds
            return problem(self._scope, 504, "The gateway did not answer in time")
        if status in (404, 503):  # no gateway: it starts, ends, or could not be started
            return problem(self._scope, 503, NOT_READY, headers=after)
        text = "The server could not answer; the replicas' logs (logs/serve in the folder of Ray's session) say why"
        return problem(self._scope, status, text)


def _undecodable(scope: Scope) -> str | None:
    """The name of a header that Ray Serve cannot decode."""
    for name, value in scope["headers"]:
        try:
            value.decode()
        except UnicodeDecodeError:
            return str(name.decode("latin-1"))
    return None

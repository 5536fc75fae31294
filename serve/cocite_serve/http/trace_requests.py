"""The first span of each request in a gateway, and the id that its work carries into the stages and their logs."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cocite_serve.http.metrics import CLIENT_GONE, REASON, reason_of, route_path
from cocite_serve.http.request_context import context_of
from cocite_serve.tracing.origins import Origin, working_for
from cocite_serve.tracing.spans import Spans, begin_trace

TRACED = "POST"
"""The method of the requests that compute something. Others are not traced: their paths may have the ids of papers, and
a health check each second would bury the rest."""


class TraceRequests:
    """Middleware that traces the requests of the API, where traces are on, and lets the stages know their ids.

    The trace continues the client's ``traceparent``. A traced request's response has the header ``traceresponse``, and
    its log line ``trace_id``.

    Args:
        app: the application behind it; a :class:`~cocite_serve.http.request_context.Identify` is before it.
        paths: of the application's routes that a request can name without values; any other is ``other``.

    Example:
        >>> from fastapi import FastAPI
        >>> from starlette.testclient import TestClient
        >>> from cocite_serve.tracing.origins import request_ids
        >>> app = FastAPI()
        >>> @app.get("/")
        ... async def ids() -> str:
        ...     return request_ids()
        >>> app.add_middleware(TraceRequests, paths=())
        >>> TestClient(app).get("/", headers={"X-Request-ID": "5f0c"}).json()
        '5f0c'
    """

    def __init__(self, app: ASGIApp, paths: tuple[str, ...]) -> None:
        self.app, self._paths = app, frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, within its span."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        context = context_of(scope)
        if scope["method"] != TRACED:
            with working_for((Origin(context.id),)):
                await self.app(scope, receive, send)
            return
        spans = begin_trace(TRACED, context.id, Headers(scope=scope).get("traceparent", ""))
        [origin] = spans.origins
        if spans:
            context.facts["trace_id"] = origin.traceparent.split("-")[1]
        status = CLIENT_GONE

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if origin.traceparent:
                    MutableHeaders(scope=message)["traceresponse"] = origin.traceparent
            await send(message)

        try:
            with working_for(spans.origins):
                await self.app(scope, receive, note)
        except Exception:
            status = 500  # what the application's outermost handler will answer
            raise
        finally:
            self._end(spans, scope, status)

    def _end(self, spans: Spans, scope: Scope, status: int) -> None:
        """End the span with what is known of the request now."""
        if not spans:
            return
        path, facts = route_path(scope, self._paths), context_of(scope).facts
        versions = {
            f"cocite.{name}": facts[name] for name in ("model_version", "index_version") if name in facts
        }
        spans.rename(f"{TRACED} {path}")
        spans.set(
            {
                "http.request.method": TRACED,
                "http.route": path,
                "http.response.status_code": status,
                **versions,
            }
        )
        spans.end((scope.get(REASON) or reason_of(status)) if status >= 500 else "")

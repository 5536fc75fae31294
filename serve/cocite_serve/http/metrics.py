"""What a gateway counts and times, exported by Ray's metrics agent for Prometheus.

Ray puts ``ray_`` before each name and ``_total`` behind a counter's, and adds the labels ``replica``, ``deployment``
and ``application``. A series appears with its first value, so one that counts what never happened is absent. The values
of a process reach the agent every ten seconds (``RAY_metrics_report_interval_ms``), and the agent forgets a gauge that
was not set again within twenty.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cocite_mlflow.references import ModelVersion
from cocite_serve.failures import describe
from cocite_serve.http.conversion import Answer
from cocite_serve.http.papers import Papers
from cocite_serve.http.request_context import RequestContext, context_of, current
from cocite_serve.metric_types import counter, gauge, histogram

REASON = "cocite.reason"
"""Key of a request's scope: why it was refused, where the status alone does not say."""
CLIENT_GONE = 499
"""Status that stands for a client that left before its response; nobody receives it."""
REASONS = {
    400: "malformed",
    401: "no_key",
    403: "forbidden",
    404: "not_found",
    405: "not_found",
    408: "body_too_slow",
    413: "body_too_large",
    429: "overloaded",
    CLIENT_GONE: "client_gone",
    503: "not_ready",
    504: "timeout",
}
"""Reason of each status that has one; any other is ``invalid`` (4xx) or ``failed`` (5xx)."""
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
"""Methods that a log line names; a client may send any word."""
REPEAT_S = 1.0
"""Seconds after which a gateway sets its gauges again."""
SECONDS = [
    0.005,
    0.01,
    0.02,
    0.035,
    0.05,
    0.075,
    0.1,
    0.15,
    0.2,
    0.3,
    0.5,
    0.75,
    1.0,
    1.5,
    2.0,
    3.0,
    5.0,
    10.0,
    20.0,
]
"""Upper bounds of the buckets of every histogram of seconds."""


class Served(Protocol):
    """What a gateway serves now, as far as its metrics tell of it.

    Example:
        >>> class NoPapers(list):
        ...     created = "2026-11-02T03:04:05+00:00"
        >>> class Nothing:
        ...     papers, model_version, index_version, registered = NoPapers(), "5f0c", "000001", None
        >>> GatewayMetrics().serves(Nothing())
    """

    papers: Papers
    model_version: str
    index_version: str
    registered: ModelVersion | None


class GatewayMetrics:
    """The counters, gauges and histograms of one gateway.

    Example:
        On Ray Serve the values reach Ray's metrics agent; in a process without Ray they go nowhere:

        >>> metrics = GatewayMetrics()
        >>> metrics.count("/v1/recommend", status=429, seconds=0.001)
        >>> exported_names(metrics)[:2]
        ['ray_cocite_requests_total', 'ray_cocite_rejected_total']
    """

    def __init__(self) -> None:
        self.requests = counter(
            "cocite_requests",
            description="Requests answered, by path and HTTP status (499: the client left before).",
            tag_keys=("path", "status"),
        )
        self.rejected = counter(
            "cocite_rejected", description="Requests answered with an error, by reason.", tag_keys=("reason",)
        )
        self.seconds = histogram(
            "cocite_request_seconds",
            description="Seconds from a request's head to the end of its response, by path.",
            boundaries=SECONDS,
            tag_keys=("path",),
        )
        self.stage_seconds = histogram(
            "cocite_stage_seconds",
            description="Seconds that a stage took of an answered request, its queue included: retrieve or rerank.",
            boundaries=SECONDS,
            tag_keys=("stage",),
        )
        self.partial = counter(
            "cocite_partial_answers",
            description="Answers without the papers of a shard, by its number from 0.",
            tag_keys=("shard",),
        )
        self.in_flight = gauge(
            "cocite_requests_in_flight", description="Requests that have begun and are not answered yet."
        )
        self.index = gauge(
            "cocite_index_info", description="1 for the index version that is served.", tag_keys=("version",)
        )
        self.index_papers = gauge("cocite_index_papers", description="Papers that may be recommended.")
        self.index_created = gauge(
            "cocite_index_created_timestamp_seconds",
            description="When the index version that is served was made, in seconds since 1970 (UTC).",
        )
        self.model = gauge(
            "cocite_model_info",
            description="1 for the model version that is served; name and number are empty for a folder.",
            tag_keys=("version", "name", "number"),
        )
        self._flying = 0

    def begin(self, change: int = 1) -> None:
        """Note that a request has begun (1) or ended (-1)."""
        self._flying += change

    def count(self, path: str, status: int, seconds: float, reason: str | None = None) -> None:
        """Count a request that has ended.

        Args:
            path: of the route, without the values in it, so that there are few.
            status: of the response.
            seconds: since the request began.
            reason: of an error; what :data:`REASONS` says of its status when not given.
        """
        self.requests.inc(tags={"path": path, "status": str(status)})
        self.seconds.observe(seconds, tags={"path": path})
        if status >= 400:
            self.rejected.inc(tags={"reason": reason or reason_of(status)})

    def observe(self, answer: Answer) -> None:
        """Take the times of both stages from an answer, and the shards that it lacks."""
        current().facts |= {
            "retrieve_ms": round(answer.retrieve_ms, 1),
            "rerank_ms": round(answer.rerank_ms, 1),
        }
        for stage, ms in (("retrieve", answer.retrieve_ms), ("rerank", answer.rerank_ms)):
            self.stage_seconds.observe(ms / 1000, tags={"stage": stage})
        for shard in answer.missing_shards:
            self.partial.inc(tags={"shard": str(shard)})

    def serves(self, backend: Served) -> None:
        """Set the gauges: what a backend serves, and the requests under way. What was served before is forgotten."""
        self.in_flight.set(self._flying)
        self.index.set(1, tags={"version": backend.index_version})
        model: dict[str, str] = {"version": backend.model_version, "name": "", "number": ""}
        if backend.registered is not None:
            model |= {"name": backend.registered.name, "number": str(backend.registered.version)}
        self.model.set(1, tags=model)
        self.index_papers.set(len(backend.papers))
        if (created := backend.papers.created) is not None:
            self.index_created.set(datetime.fromisoformat(created).timestamp())

    async def repeat(self, current: Callable[[], Served]) -> None:
        """Set the gauges again and again, until this task is cancelled.

        Args:
            current: returns the backend that answers now.
        """
        while True:
            self.serves(current())
            await asyncio.sleep(REPEAT_S)


def exported_names(holder: object) -> list[str]:
    """The names under which Prometheus has an object's metrics, a histogram's without ``_bucket`` and the like.

    Example:
        >>> exported_names(GatewayMetrics())[2:4]
        ['ray_cocite_request_seconds', 'ray_cocite_stage_seconds']
    """
    from ray.util.metrics import Counter, Metric

    held = [value for value in vars(holder).values() if isinstance(value, Metric)]
    return [f"ray_{m.info['name']}{'_total' if isinstance(m, Counter) else ''}" for m in held]


class CountRequests:
    """Middleware that counts, times and logs every request, those that other middleware refuses included.

    Args:
        app: the application behind it.
        metrics: of the gateway.
        paths: of the application's routes that a request can name without values; any other is ``other``.
        log: takes a line for each request; None: none is written.

    Example:
        >>> from starlette.testclient import TestClient
        >>> from fastapi import FastAPI
        >>> app = FastAPI()
        >>> app.add_middleware(CountRequests, metrics=GatewayMetrics(), paths=())
        >>> TestClient(app).get("/nowhere").status_code
        404
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: GatewayMetrics,
        paths: tuple[str, ...],
        log: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.app = app
        self._metrics, self._paths, self._log = metrics, frozenset(paths), log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count it when it has ended."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), CLIENT_GONE
        context = context_of(scope)

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.begin()
        try:
            await self.app(scope, receive, note)
        except Exception as error:
            status = 500  # what the application's outermost handler will answer
            context.facts["error"] = describe(error)
            raise
        finally:
            self._metrics.begin(-1)
            seconds, path = time.perf_counter() - begin, route_path(scope, self._paths)
            self._metrics.count(path, status, seconds, scope.get(REASON))
            if self._log is not None:
                self._log(log_line(scope, path, status, seconds, context))


def route_path(scope: Scope, paths: Collection[str]) -> str:
    """The route's own path, whose number is bounded; a client may send any path.

    Args:
        scope: of a request that has ended.
        paths: of the application's routes that a request can name without values; any other is ``other``.

    Example:
        >>> route_path({"path": "/v1/recommend"}, {"/v1/recommend"}), route_path({"path": "/etc/passwd"}, ())
        ('/v1/recommend', 'other')
    """
    route = getattr(scope.get("route"), "path", None)
    if route:
        return str(route)
    # Refused before it was routed, or a file of a mounted folder, or nothing at all.
    for path in (scope["path"], "/" + scope["path"].split("/")[1]):
        if path in paths:
            return str(path)
    return "other"


def log_line(scope: Scope, path: str, status: int, seconds: float, context: RequestContext) -> dict[str, Any]:
    """The log line of a request that has ended. Of what the client typed, it has the request's id alone.

    Args:
        scope: of the request.
        path: of the route, by :func:`route_path`.
        status: of the response.
        seconds: since the request began.
        context: of the request.

    Example:
        >>> log_line({"method": "GET"}, "/v1/version", 503, 0.0123, RequestContext("5f0c"))
        {'request_id': '5f0c', 'method': 'GET', 'path': '/v1/version', 'status': 503, 'reason': 'not_ready', 'ms': 12.3}
    """
    method = scope["method"] if scope["method"] in METHODS else "other"
    line: dict[str, Any] = {"request_id": context.id, "method": method, "path": path, "status": status}
    if status >= 400:
        line["reason"] = scope.get(REASON) or reason_of(status)
    if context.key:
        line["key"] = context.key
    return line | {"ms": round(1000 * seconds, 1)} | context.facts


def reason_of(status: int) -> str:
    """The reason that an error's status stands for.

    Example:
        >>> [reason_of(status) for status in (400, 422, 429, 500)]
        ['malformed', 'invalid', 'overloaded', 'failed']
    """
    return REASONS.get(status, "invalid" if status < 500 else "failed")

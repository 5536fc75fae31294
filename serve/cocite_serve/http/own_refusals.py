"""What Ray Serve's proxy answers by itself: no gateway sees it, so it is counted and logged where it is refused."""

from __future__ import annotations

import time
from collections.abc import Collection

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cocite_serve.http.metrics import REASON, GatewayMetrics, log_line, route_path
from cocite_serve.http.request_context import context_of
from cocite_serve.json_log import LogLine, open_log
from cocite_serve.settings import LogSettings

BEGAN = "cocite.began"
"""Key of a request's scope in the proxy: when the request came, by ``time.perf_counter``."""


class OwnRefusals:
    """Sends what Ray Serve's proxy answers by itself, counts it and logs it: no gateway does.

    Args:
        paths: that the counts and the lines name; a client may send any other.
        logs: where to write a line for each, ``proxy-N.jsonl``; None: none is written.

    Example:
        >>> import asyncio
        >>> from starlette.responses import PlainTextResponse
        >>> async def send(message):
        ...     print(message["type"])
        >>> scope = {"type": "http", "method": "POST", "path": "/v1/recommend", "headers": []}
        >>> refusals = OwnRefusals(("/v1/recommend",))
        >>> asyncio.run(refusals.send(PlainTextResponse("full", 429), scope, None, send))
        http.response.start
        http.response.body
    """

    def __init__(self, paths: Collection[str], logs: LogSettings | None = None) -> None:
        self._paths, self._logs = paths, logs
        self._metrics: GatewayMetrics | None = None
        self._log: LogLine | None = None

    async def send(self, refusal: Response, scope: Scope, receive: Receive, send: Send) -> None:
        """Count a refusal, log it, and send it; without :data:`BEGAN` in the scope it took no time."""
        if self._metrics is None:
            # Made here: Ray's metrics and a file of the log are those of the process that makes them.
            self._metrics = GatewayMetrics()
            self._log = None if self._logs is None else open_log(self._logs, "proxy")
        now, status = time.perf_counter(), refusal.status_code
        path, seconds = route_path(scope, self._paths), now - scope.get(BEGAN, now)
        self._metrics.count(path, status, seconds, scope.get(REASON))
        if self._log is not None:
            self._log(log_line(scope, path, status, seconds, context_of(scope)))
        await refusal(scope, receive, send)

"""A collector of traces that takes OTLP over HTTP as a real one does, and keeps the spans."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from cocite_serve.tracing import exporting

SENT_S = 60.0
"""Seconds for which a busy machine may send one batch; usually some milliseconds."""
Value = str | int | float | bool


@dataclass(frozen=True)
class Received:
    """A span as a collector sees it; ids are hexadecimal, and the id of no parent is empty."""

    service: str
    name: str
    kind: str
    trace: str
    id: str
    parent: str
    begin: int
    end: int
    failed: bool
    attributes: dict[str, Value] = field(default_factory=dict)
    events: int = 0


@dataclass
class Receiver:
    """What a collector has received."""

    url: str
    spans: list[Received] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def of(self, request_id: str) -> list[Received]:
        """The spans of a request, in the order in which they began."""
        mine = [span for span in self.spans if span.attributes.get("cocite.request_id") == request_id]
        return sorted(mine, key=lambda span: (span.begin, -span.end))


@contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:
    """A collector on a port of this machine, a free one when not given, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.paths.append(self.path)
            receiver.bodies.append(body)
            receiver.spans += decoded(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    receiver = Receiver(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def decoded(body: bytes) -> list[Received]:
    """The spans of a body."""
    return [
        Received(
            str(value(next(each for each in group.resource.attributes if each.key == "service.name"))),
            span.name,
            Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
            span.trace_id.hex(),
            span.span_id.hex(),
            span.parent_span_id.hex(),
            span.start_time_unix_nano,
            span.end_time_unix_nano,
            span.status.code == Status.STATUS_CODE_ERROR,
            {each.key: value(each) for each in span.attributes},
            len(span.events),
        )
        for group in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]


def value(pair: KeyValue) -> Value:
    """The value of an attribute; another kind than cocite sets is an error."""
    kind = pair.value.WhichOneof("value")
    assert kind in ("string_value", "int_value", "double_value", "bool_value"), kind
    found: Value = getattr(pair.value, kind)
    return found


@contextmanager
def traced(monkeypatch: pytest.MonkeyPatch, endpoint: str, **environment: str) -> Iterator[None]:
    """Let this process send spans to a collector, and wait for a flush's end, until the block ends."""
    monkeypatch.setenv(exporting.TIMEOUTS[0], str(SENT_S))
    monkeypatch.setattr(exporting.flush, "__defaults__", (SENT_S,))
    monkeypatch.setenv(exporting.ENDPOINT, f"{endpoint}/v1/traces")
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(exporting, "_tracer", None)
    monkeypatch.setattr(exporting, "_processor", None)
    exporting.start("cocite-test")
    processor = exporting._processor
    try:
        yield
    finally:
        if processor is not None:
            exporting.flush(exporting.FLUSH_S)  # a collector may be silent
            threading.Thread(target=processor.shutdown, daemon=True).start()

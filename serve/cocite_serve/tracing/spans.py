"""Spans of the work that is done for one request, or for several together: one in the trace of each.

Attributes are counts, versions and ids of requests. Nothing that a client wrote, and no error's words, may become one:
spans leave the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from cocite_serve.tracing import exporting
from cocite_serve.tracing.origins import Origin, Origins, origins, working_for

if TYPE_CHECKING:
    from opentelemetry.trace import Span

Value = str | int | float | bool
Attributes = Mapping[str, Value]
Kind = Literal["server", "client", "internal"]
"""Whether a span is of a request that came in, of a call to another process, or of neither."""
NOTHING: Attributes = {}


class Spans:
    """Spans of one piece of work that have begun. A context manager: they end with the block, and what is done within
    it belongs under them.

    Attributes:
        origins: the requests that the work is done for; a call to another process passes them on.

    Example:
        >>> with working_for((Origin("5f0c"),)), span("compute") as spans:
        ...     spans.set({"cocite.read": 30})
        ...     bool(spans)  # the request is not traced, so there are none
        False
    """

    __slots__ = ("_entered", "_spans", "origins")

    def __init__(self, origins: Origins, spans: tuple[Span, ...] = ()) -> None:
        self.origins, self._spans = origins, spans
        self._entered: AbstractContextManager[None] | None = None

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._spans)

    def set(self, attributes: Attributes) -> None:
        """Give them attributes."""
        for span in self._spans:
            span.set_attributes(attributes)

    def rename(self, name: str) -> None:
        """Give them another name, where it is known late."""
        for span in self._spans:
            span.update_name(name)

    def end(self, error: str = "") -> None:
        """End them; a second call does nothing.

        Args:
            error: the class of what went wrong; empty: nothing.
        """
        spans, self._spans = self._spans, ()
        for span in spans:
            if error:
                _mark(span, error)
            span.end()

    def __enter__(self) -> Spans:
        if self._spans:  # else the work is for the same requests as before
            self._entered = working_for(self.origins)
            self._entered.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered is not None:
            self._entered.__exit__(None, None, None)
        self.end("" if kind is None else kind.__qualname__)


def span(name: str, attributes: Attributes = NOTHING, kind: Kind = "internal") -> Spans:
    """Begin a span for each traced request that this thread or task works for.

    Args:
        name: of the work, one of few.
        attributes: of all of them.
        kind: what they are of.

    Example:
        >>> queued = span("queue")  # ends somewhere else
        >>> queued.end()
    """
    requests, tracer = origins(), exporting.tracer()
    if tracer is None or not any(request.traceparent for request in requests):
        return Spans(requests)
    begun = [
        _begin(name, request.request_id, request.traceparent, attributes, kind)
        if request.traceparent
        else (request, None)
        for request in requests
    ]
    return Spans(tuple(request for request, _ in begun), tuple(each for _, each in begun if each is not None))


@contextmanager
def answering(name: str, requests: Origins, attributes: Attributes = NOTHING) -> Iterator[Spans]:
    """Work within this block for the requests that another process passed on with its call.

    Example:
        >>> with answering("retriever.retrieve", (Origin("5f0c"),)):
        ...     origins()[0].request_id
        '5f0c'
    """
    with working_for(requests), span(name, attributes, "server") as spans:
        yield spans


def begin_trace(name: str, request_id: str, traceparent: str = "") -> Spans:
    """Begin the first span of a request here, under the client's if it sent one; whether it is traced is decided now.

    Args:
        name: of the work.
        request_id: of the request.
        traceparent: the header of the client; one that cannot be read counts as none.
    """
    if exporting.tracer() is None:
        return Spans((Origin(request_id),))
    origin, span = _begin(name, request_id, traceparent, NOTHING, "server")
    return Spans((origin,), (span,) if span is not None else ())


def _begin(
    name: str, request_id: str, traceparent: str, attributes: Attributes, kind: Kind
) -> tuple[Origin, Span | None]:
    """A new span and the origin under it; None where the request is not traced."""
    from opentelemetry.context import Context
    from opentelemetry.trace import SpanKind, set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    tracer, propagator = exporting.tracer(), TraceContextTextMapPropagator()
    assert tracer is not None, "without a tracer no span is begun"
    # Contexts of its own: Ray's hooks, if somebody set them, keep theirs in the ambient one.
    parent = propagator.extract({"traceparent": traceparent}, Context())
    span = tracer.start_span(
        name,
        parent,
        SpanKind[kind.upper()],
        {"cocite.request_id": request_id, **attributes},
        record_exception=False,
        set_status_on_exception=False,
    )
    if not span.is_recording():
        return Origin(request_id), None
    carrier: dict[str, str] = {}
    propagator.inject(carrier, set_span_in_context(span, Context()))
    return Origin(request_id, carrier["traceparent"]), span


def _mark(span: Span, error: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", error)
    span.set_status(StatusCode.ERROR)

"""Where this process sends its spans: to a collector that takes OTLP over HTTP, from a thread of its own.

What decides is the environment that OpenTelemetry defines; :func:`environment` is what the endpoint's settings add to
it. A request never waits for a collector: ended spans wait in a queue of bounded length, which drops the oldest.

Source: OpenTelemetry's "OTLP Exporter Configuration" and "Environment Variable Specification".
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING

import cocite
from cocite_serve.settings import TraceSettings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import Tracer

ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
BASE_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TIMEOUTS = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
DELAY = "OTEL_BSP_SCHEDULE_DELAY"
TIMEOUT_S = 2.0
"""Seconds for one batch, new attempts included, where the environment does not say."""
DELAY_MS = 1_000.0
"""Milliseconds between two batches, where the environment does not say."""
FLUSH_S = 2.0
"""Seconds for which a process that ends waits for its last spans to be taken."""
COMPLAINT_S = 60.0
"""Seconds for which the same complaint about a collector is not logged again."""
EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
QUEUE = "opentelemetry.sdk._shared_internal"

_lock = threading.Lock()
_tracer: Tracer | None = None
_processor: BatchSpanProcessor | None = None


def environment(settings: TraceSettings) -> dict[str, str]:
    """What the environment of a process has to hold so that its spans go where the settings say.

    Example:
        >>> environment(TraceSettings(endpoint="http://127.0.0.1:4318"))
        {'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT': 'http://127.0.0.1:4318/v1/traces'}
        >>> environment(TraceSettings())
        {}
    """
    values = {}
    if settings.endpoint is not None:
        values[ENDPOINT] = f"{settings.endpoint.rstrip('/').removesuffix('/v1/traces')}/v1/traces"
    if settings.share is not None:
        values |= {
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": str(settings.share),
        }
    return values


def configured() -> bool:
    """Whether the environment of this process names a collector, and does not switch traces off."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none":
        return False
    return any(os.environ.get(name, "").strip() for name in (ENDPOINT, BASE_ENDPOINT))


def start(name: str) -> None:
    """Let this process have spans, if a collector is configured; a second call does nothing.

    Args:
        name: of the service in the traces, unless ``OTEL_SERVICE_NAME`` says another.
    """
    global _tracer, _processor
    if not configured():
        return
    with _lock:
        if _tracer is None:
            _tracer, _processor = _make(name)


def tracer() -> Tracer | None:
    """What makes the spans of this process; None: it has none."""
    return _tracer


def flush(seconds: float = FLUSH_S) -> None:
    """Send what has not been sent; return when it is sent, and at the latest after some seconds."""
    processor = _processor
    if processor is not None:
        # The processor's own flush waits for as long as a collector is silent.
        sending = threading.Thread(target=processor.force_flush, daemon=True)
        sending.start()
        sending.join(seconds)


def _make(name: str) -> tuple[Tracer, BatchSpanProcessor]:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    facts = {"service.namespace": "cocite", "service.version": cocite.__version__}
    if "OTEL_SERVICE_NAME" not in os.environ:
        facts["service.name"] = name
    for logger in (EXPORTER, QUEUE):
        logging.getLogger(logger).addFilter(NowAndThen())
    processor = BatchSpanProcessor(
        OTLPSpanExporter(timeout=None if any(each in os.environ for each in TIMEOUTS) else TIMEOUT_S),
        schedule_delay_millis=None if DELAY in os.environ else DELAY_MS,
    )
    # A process of Ray ends without Python's own end, so nothing could be done there.
    provider = TracerProvider(resource=Resource.create(dict(facts)), shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider.get_tracer("cocite_serve", cocite.__version__), processor


class NowAndThen(logging.Filter):
    """Lets the same message through once in :data:`COMPLAINT_S`: a collector that is away is no news each second.

    Example:
        >>> record = logging.makeLogRecord({"msg": "no answer from %s"})
        >>> often = NowAndThen()
        >>> often.filter(record), often.filter(record)
        (True, False)
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the message was not logged for a while."""
        message, now = str(record.msg), time.monotonic()
        if now - self._last.get(message, -COMPLAINT_S) < COMPLAINT_S:
            return False
        self._last[message] = now
        return True

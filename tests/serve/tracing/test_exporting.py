"""What decides whether spans are made, and a collector that is away, silent, or slow to answer."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import time

import pytest
from helpers.endpoint import free_port
from helpers.span_receiver import SENT_S, receiving, traced

from cocite_serve.settings import TraceSettings
from cocite_serve.tracing import exporting
from cocite_serve.tracing.exporting import BASE_ENDPOINT, ENDPOINT, NowAndThen, configured, environment
from cocite_serve.tracing.spans import begin_trace

NEVER = {"OTEL_BSP_SCHEDULE_DELAY": "600000"}
"""Milliseconds: what is sent is sent by a flush."""


@pytest.mark.parametrize("endpoint", ["http://host:4318", "http://host:4318/", "http://host:4318/v1/traces"])
def test_the_settings_are_the_standard_variables(endpoint: str) -> None:
    assert environment(TraceSettings(endpoint=endpoint, share=0.25)) == {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://host:4318/v1/traces",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": "0.25",
    }


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, False),
        ({ENDPOINT: "http://host:4318/v1/traces"}, True),
        ({BASE_ENDPOINT: "http://host:4318"}, True),
        ({BASE_ENDPOINT: " "}, False),
        ({BASE_ENDPOINT: "http://host:4318", "OTEL_SDK_DISABLED": "true"}, False),
        ({BASE_ENDPOINT: "http://host:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_the_environment_decides(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: bool
) -> None:
    for name in (ENDPOINT, BASE_ENDPOINT, "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert configured() is expected


def test_without_a_collector_opentelemetry_is_not_imported() -> None:
    code = (
        "import sys\n"
        "from cocite_serve.tracing import exporting, spans\n"
        "from cocite_serve.tracing.origins import Origin, working_for\n"
        "exporting.start('cocite-gateway')\n"
        "with working_for(spans.begin_trace('POST', '5f0c', '00-' + 32 * 'a' + '-' + 16 * 'b' + '-01').origins):\n"
        "    with spans.span('recommend') as found: assert not found\n"
        "exporting.flush()\n"
        "print(any(name.startswith('opentelemetry') for name in sys.modules))\n"
    )
    clean = dict.fromkeys((ENDPOINT, BASE_ENDPOINT), "")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**clean}
    )
    assert done.stdout.strip() == "False", done.stderr


def test_spans_are_sent_soon_and_a_flush_sends_them_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as receiver:
        with traced(monkeypatch, receiver.url, **NEVER):
            begin_trace("POST", "flushed").end()
            assert receiver.spans == []
            exporting.flush()
            assert [span.name for span in receiver.of("flushed")] == ["POST"]
            assert receiver.spans[0].service == "cocite-test"
            assert receiver.paths == ["/v1/traces"]
        with traced(monkeypatch, receiver.url, OTEL_BSP_SCHEDULE_DELAY="50"):
            begin_trace("POST", "by itself").end()
            deadline = time.monotonic() + 30
            while not receiver.of("by itself") and time.monotonic() < deadline:
                time.sleep(0.02)
            assert len(receiver.of("by itself")) == 1


def test_a_second_start_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as receiver, traced(monkeypatch, receiver.url, **NEVER):
        tracer = exporting.tracer()
        exporting.start("cocite-another")
        assert exporting.tracer() is tracer


@pytest.mark.parametrize("silent", [False, True], ids=["away", "silent"])
def test_a_collector_that_does_not_answer_delays_nothing(
    monkeypatch: pytest.MonkeyPatch, silent: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        if silent:
            listening.listen(8)  # it accepts, and never answers
        port = listening.getsockname()[1] if silent else free_port()
        with traced(monkeypatch, f"http://127.0.0.1:{port}", OTEL_BSP_SCHEDULE_DELAY="20"):
            begin = time.monotonic()
            for i in range(5_000):  # more than the queue holds
                begin_trace("POST", f"request-{i}").end()
            cpu_and_waiting = time.monotonic() - begin
            begin = time.monotonic()
            exporting.flush(0.5)
            assert time.monotonic() - begin < SENT_S
            assert len(exporting._processor._batch_processor._queue) <= 2048  # type: ignore[union-attr]
        # 5,000 spans that waited a batch's minute each would take days, ten batches ten minutes.
        assert cpu_and_waiting < 2 * SENT_S
    complaints = [record.msg for record in caplog.records if record.name.startswith("opentelemetry")]
    assert len(complaints) == len(set(complaints)), "each complaint once"


def test_complaints_come_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(exporting.time, "monotonic", lambda: now)
    often = NowAndThen()
    record = logging.makeLogRecord({"msg": "queue full"})
    assert [often.filter(record), often.filter(record)] == [True, False]
    assert often.filter(logging.makeLogRecord({"msg": "another"}))
    now += exporting.COMPLAINT_S
    assert often.filter(record)

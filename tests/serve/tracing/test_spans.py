"""Spans as a collector receives them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.span_receiver import Receiver, receiving, traced

from cocite_serve.tracing import exporting
from cocite_serve.tracing.origins import Origin, origins, working_for
from cocite_serve.tracing.spans import answering, begin_trace, span

TRACE, PARENT = 32 * "a", 16 * "b"
SAMPLED, NOT_SAMPLED = f"00-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-00"
DRAFT = "a draft that nobody else may read"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as receiver, traced(monkeypatch, receiver.url, OTEL_BSP_SCHEDULE_DELAY="600000"):
        yield receiver


def test_a_trace_goes_on_in_another_process(receiver: Receiver) -> None:
    first = begin_trace("POST", "5f0c", SAMPLED)
    with working_for(first.origins), span("retriever.retrieve", kind="client") as call:
        passed = call.origins  # what a call carries along
    assert origins() == ()
    with answering("retriever.retrieve", passed, {"cocite.shard": 2}), span("compute"):
        pass
    first.rename("POST /v1/recommend")
    first.end()
    exporting.flush()
    spans = {(each.name, each.kind): each for each in receiver.of("5f0c")}
    root = spans["POST /v1/recommend", "server"]
    assert (root.trace, root.parent) == (TRACE, PARENT)
    asked, served = spans["retriever.retrieve", "client"], spans["retriever.retrieve", "server"]
    assert (asked.parent, served.parent) == (root.id, asked.id)
    assert spans["compute", "internal"].parent == served.id
    assert {each.trace for each in spans.values()} == {TRACE}
    assert served.attributes == {"cocite.request_id": "5f0c", "cocite.shard": 2}


@pytest.mark.parametrize("header", ["", "no traceparent", "00-" + 32 * "0" + "-" + PARENT + "-01"])
def test_a_header_that_cannot_be_read_begins_a_trace(receiver: Receiver, header: str) -> None:
    spans = begin_trace("POST", "5f0c", header)
    spans.end()
    exporting.flush()
    [root] = receiver.of("5f0c")
    assert root.parent == ""
    assert root.trace == spans.origins[0].traceparent.split("-")[1] != TRACE


def test_what_the_client_does_not_trace_is_not_traced(receiver: Receiver) -> None:
    with working_for(begin_trace("POST", "5f0c", NOT_SAMPLED).origins), span("recommend") as inner:
        assert inner.origins == (Origin("5f0c"),)
    exporting.flush()
    assert receiver.spans == []


def test_a_share_is_traced_and_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    share = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"}
    with receiving() as receiver, traced(monkeypatch, receiver.url, **share):
        for i in range(400):
            first = begin_trace("POST", f"request-{i}")
            with answering("retriever.retrieve", first.origins):
                pass
            first.end()
        exporting.flush()
        roots = [each for each in receiver.spans if each.name == "POST"]
        # Four standard deviations of 400 draws.
        assert 65 <= len(roots) <= 135
        inner = {each.attributes["cocite.request_id"] for each in receiver.spans if each.parent}
        assert inner == {each.attributes["cocite.request_id"] for each in roots}


def test_work_for_several_requests_is_in_the_trace_of_each(receiver: Receiver) -> None:
    firsts = [begin_trace("POST", f"request-{i}") for i in range(2)]
    requests = (firsts[0].origins[0], Origin("not traced"), firsts[1].origins[0])
    with working_for(requests), span("chunk", {"cocite.batch.requests": 3}) as chunk:
        assert [each.request_id for each in chunk.origins] == ["request-0", "not traced", "request-1"]
    for first in firsts:
        first.end()
    exporting.flush()
    for i in range(2):
        root, computed = receiver.of(f"request-{i}")
        assert (computed.name, computed.parent, computed.trace) == ("chunk", root.id, root.trace)
        assert computed.attributes["cocite.batch.requests"] == 3
    assert receiver.of("not traced") == []


def test_an_error_is_known_by_its_class_alone(receiver: Receiver) -> None:
    first = begin_trace("POST", "5f0c")
    with pytest.raises(KeyError, match=DRAFT), working_for(first.origins), span("compute"):
        raise KeyError(DRAFT)
    first.end()
    exporting.flush()
    _, computed = receiver.of("5f0c")
    assert computed.failed
    assert computed.attributes["error.type"] == "KeyError"
    assert computed.events == 0
    assert not any(DRAFT.encode() in body for body in receiver.bodies)


def test_a_span_ends_once(receiver: Receiver) -> None:
    with working_for(begin_trace("POST", "5f0c").origins):
        queued = span("queue")
        queued.end()
        queued.end("Late")
    exporting.flush()
    [only] = receiver.of("5f0c")
    assert (only.name, only.failed) == ("queue", False)

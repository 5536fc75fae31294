"""The first span of a request, by the API over stages in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.api_backend import InProcess, client
from helpers.span_receiver import Receiver, receiving, traced
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from cocite_serve.http.trace_requests import TraceRequests
from cocite_serve.tracing import exporting
from cocite_serve.tracing.origins import Origin, origins

TRACE, PARENT = 32 * "a", 16 * "b"
ID = {"X-Request-ID": "5f0c"}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as receiver, traced(monkeypatch, receiver.url, OTEL_BSP_SCHEDULE_DELAY="600000"):
        yield receiver


def test_a_span_tells_route_status_and_versions(backend: InProcess, receiver: Receiver) -> None:
    sampled = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    answer = client(backend).post("/v1/recommend", json={"title": "Parsing"}, headers=ID | sampled)
    exporting.flush()
    [root] = receiver.of("5f0c")
    assert (root.name, root.kind, root.trace, root.parent) == ("POST /v1/recommend", "server", TRACE, PARENT)
    assert root.attributes == {
        "cocite.request_id": "5f0c",
        "http.request.method": "POST",
        "http.route": "/v1/recommend",
        "http.response.status_code": 200,
        "cocite.model_version": answer.json()["model_version"],
        "cocite.index_version": answer.json()["index_version"],
    }
    assert answer.headers["traceresponse"] == f"00-{TRACE}-{root.id}-01"


@pytest.mark.parametrize("path", ["/v1/health", "/v1/papers/vaswani2017attention", "/"])
def test_what_computes_nothing_is_not_traced(backend: InProcess, receiver: Receiver, path: str) -> None:
    answer = client(backend).get(path, headers=ID)
    assert answer.status_code == 200
    assert "traceresponse" not in answer.headers
    exporting.flush()
    assert receiver.spans == []


def test_no_path_of_a_client_names_a_span(backend: InProcess, receiver: Receiver) -> None:
    assert client(backend).post("/my/secret/path?and=query", json={}, headers=ID).status_code == 404
    exporting.flush()
    [root] = receiver.of("5f0c")
    assert (root.name, root.attributes["http.route"], root.failed) == ("POST other", "other", False)
    assert not any(b"secret" in body for body in receiver.bodies)


def test_a_defect_is_an_error_by_its_reason(backend: InProcess, receiver: Receiver) -> None:
    async def recommend(*_: object) -> object:
        raise ZeroDivisionError("the words of a draft")

    backend.recommend = recommend  # type: ignore[method-assign, assignment]
    assert client(backend).post("/v1/recommend", json={"title": "x"}, headers=ID).status_code == 500
    exporting.flush()
    [root] = receiver.of("5f0c")
    assert root.failed
    assert (root.attributes["http.response.status_code"], root.attributes["error.type"]) == (500, "failed")
    assert not any(b"words of a draft" in body for body in receiver.bodies)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_traces_the_work_still_knows_its_request(method: str) -> None:
    found = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        found.append(origins())
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    answer = TestClient(TraceRequests(app, ())).request(method, "/", headers=ID)
    assert found == [(Origin("5f0c"),)]
    assert "traceresponse" not in answer.headers
    assert origins() == ()

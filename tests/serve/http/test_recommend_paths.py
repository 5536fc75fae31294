"""``/v1/recommend`` and ``/v1/recommend/batch`` over stages in this process."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers.api_backend import InProcess, client
from starlette.testclient import TestClient

REQUESTS = [
    {"title": "Machine translation", "top_k": 3},
    {"title": "x" * 101},
    {"context": "We score translations with BLEU [CIT].", "top_k": 2, "depth": 40},
]


def lines(served: TestClient, **body: Any) -> dict[int, Any]:
    answer = served.post("/v1/recommend/batch", **body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    found = [json.loads(line) for line in answer.text.splitlines()]
    return {line["index"]: line for line in found}


def without_times(answer: Any) -> Any:
    """Without what no two requests have in common: times and ids."""
    own = ("took_ms", "request_id", "instance")
    return {name: value for name, value in answer.items() if name not in own}


def test_a_batch_answers_what_its_requests_get_alone(backend: InProcess) -> None:
    served = client(backend)
    as_lines = "\n".join(json.dumps(request) for request in REQUESTS)
    found = lines(served, content=as_lines.encode(), headers={"Content-Type": "application/x-ndjson"})
    assert {i: line["status"] for i, line in found.items()} == {0: 200, 1: 422, 2: 200}
    same = lines(served, json=REQUESTS)
    for index, request in enumerate(REQUESTS):
        alone = served.post("/v1/recommend", json=request)
        body = "answer" if alone.status_code == 200 else "problem"
        for line in (found[index], same[index]):
            assert line["status"] == alone.status_code
            assert without_times(line[body]) == without_times(alone.json())


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"json": [{"title": "x"}] * 65}, 422, "A batch may have 1 to 64 requests, got 65."),
        ({"json": {"title": "x"}}, 422, "The body must be a list of requests; lines of them are sent as"),
        ({"content": b"{}", "headers": {"Content-Type": "text/csv"}}, 415, "The body must be a JSON list"),
        ({"content": b"x" * 5000}, 413, "The request's body is larger"),
    ],
)
def test_what_is_no_batch_is_refused_whole(backend: InProcess, body: Any, status: int, error: str) -> None:
    answer = client(backend).post("/v1/recommend/batch", **body)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(error)


def test_each_request_of_a_batch_needs_room_as_one_alone_does(backend: InProcess) -> None:
    served = client(backend, gateway={"max_requests": 1})
    found = lines(served, json=[{"title": "Parsing"}] * 3)
    statuses = sorted(line["status"] for line in found.values())
    assert statuses[0] == 200
    assert statuses[-1] == 429
    refused = next(line for line in found.values() if line["status"] == 429)
    assert refused["retry_after"] >= 1
    assert refused["problem"]["error"].startswith("Too many requests are waiting")

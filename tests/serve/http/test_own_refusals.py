"""The lines of what the proxy refuses, by all its middleware; with Ray Serve's proxy: tests/integration/endpoint."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from ray.serve._private.http_util import call_function_from_import_path
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

from cocite_serve.http.full_notes import FULL_HEADER
from cocite_serve.http.own_refusals import OwnRefusals
from cocite_serve.proxy import CALLBACK, COUNTED_PATHS, VARIABLE, AnswerOnce, ProxySettings, environment
from cocite_serve.settings import LogSettings, ServeSettings

FULL = JSONResponse({}, 429, {"Retry-After": "2", FULL_HEADER: "600"})
"""What a gateway answers when all replicas are full: the next request like it stays in the proxy."""


@pytest.mark.parametrize(
    ("gateways", "words", "statuses", "expected"),
    [
        (JSONResponse({}), 400, [413], (413, "body_too_large")),
        (FULL, 1, [429, 429], (429, "overloaded")),
        (PlainTextResponse("Path not found.", 404), 1, [503], (503, "not_ready")),
        (PlainTextResponse("Too many", 429), 1, [429], (429, "overloaded")),
        (PlainTextResponse("Internal Server Error", 500), 1, [500], (500, "failed")),
        (JSONResponse({}), 1, [200], None),
    ],
)
def test_what_no_gateway_sees_has_one_line_in_the_log(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    gateways: ASGIApp,
    words: int,
    statuses: list[int],
    expected: tuple[int, str] | None,
) -> None:
    settings = ServeSettings(index="index", limits={"body_bytes": 2048}, logs={"folder": str(tmp_path)})
    monkeypatch.setenv(VARIABLE, environment(settings)[VARIABLE])
    inner, outer = call_function_from_import_path(CALLBACK)
    asked = TestClient(outer.cls(inner.cls(gateways, **inner.kwargs), **outer.kwargs))
    body = {"context": "quokkas " * words}
    answers = [
        asked.post("/v1/recommend?quokkas", json=body, headers={"X-Request-ID": f"5f0c-{number}"})
        for number in range(len(statuses))
    ]
    assert [answer.status_code for answer in answers] == statuses
    lines = [json.loads(line) for path in tmp_path.glob("*.jsonl") for line in path.read_text().splitlines()]
    if expected is None:
        assert lines == []
        return
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["proxy-0.jsonl"]
    [line] = lines
    assert line.pop("time")
    assert line.pop("ms") >= 0
    assert line == {
        "request_id": f"5f0c-{len(statuses) - 1}",
        "method": "POST",
        "path": "/v1/recommend",
        "status": expected[0],
        "reason": expected[1],
    }


def test_a_slow_body_and_an_end_have_a_line_in_the_log(tmp_path: Path) -> None:
    logs = LogSettings(folder=tmp_path / "logs")
    settings = ProxySettings(body_s=0.01, ending=tmp_path / "ending")

    async def ask(id: bytes) -> None:
        async def receive() -> Message:
            await asyncio.sleep(3600)
            raise AssertionError("it is not reached")

        async def send(message: Message) -> None: ...

        scope = {"type": "http", "path": "/v1/embed", "method": "POST", "headers": [(b"x-request-id", id)]}
        await asked(scope, receive, send)

    asked = AnswerOnce(JSONResponse({}), settings, OwnRefusals(COUNTED_PATHS, logs))
    asyncio.run(ask(b"slow"))
    (tmp_path / "ending").touch()
    asyncio.run(ask(b"late"))
    lines = [json.loads(line) for line in (tmp_path / "logs" / "proxy-0.jsonl").read_text().splitlines()]
    told = [(line["request_id"], line["path"], line["status"], line["reason"]) for line in lines]
    assert told == [
        ("slow", "/v1/embed", 408, "body_too_slow"),
        ("late", "/v1/embed", 503, "not_ready"),
    ]
    assert lines[0]["ms"] >= 10

from __future__ import annotations

import asyncio
import string
from typing import Any

import pytest
from helpers.api_backend import InProcess, client
from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.http.request_context import Identify, context_of, current, well_formed


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/recommend", {"title": "Parsing"}, 200),
        ("POST", "/v1/recommend", {"titel": "Parsing"}, 422),
        ("POST", "/v1/recommend", {"title": "x" * 5000}, 413),
        ("GET", "/v1/nothing", None, 404),
        ("GET", "/static/app.js", None, 200),
        ("DELETE", "/v1/health", None, 405),
    ],
)
def test_every_response_has_the_clients_id(
    backend: InProcess, method: str, path: str, body: object, status: int
) -> None:
    answer = client(backend).request(method, path, json=body, headers={"X-Request-ID": "a-request/7"})
    assert answer.status_code == status
    assert answer.headers.get_list("x-request-id") == ["a-request/7"]
    if path != "/static/app.js":
        assert answer.json()["request_id"] == "a-request/7"


@pytest.mark.parametrize("id", ["", "two words", "x" * 129, "\x7f", "ä".encode()])
def test_an_id_that_may_not_be_logged_is_replaced(backend: InProcess, id: str | bytes) -> None:
    one, two = (client(backend).get("/v1/version", headers={"X-Request-ID": id}) for _ in range(2))
    assert len(one.headers["x-request-id"]) == 36
    assert one.headers["x-request-id"] != two.headers["x-request-id"]


def test_a_defect_has_the_id_too(backend: InProcess) -> None:
    async def recommend(*_: object) -> object:
        raise ZeroDivisionError

    backend.recommend = recommend  # type: ignore[method-assign, assignment]
    answer = client(backend).post("/v1/recommend", json={"title": "x"}, headers={"X-Request-ID": "5f0c"})
    assert (answer.status_code, answer.headers["x-request-id"], answer.json()["request_id"]) == (
        500,
        "5f0c",
        "5f0c",
    )


def test_a_request_keeps_its_context_and_the_task_after_it_has_none() -> None:
    scope = {"type": "http", "headers": []}
    assert context_of(scope) is context_of(scope)
    assert current().id == ""


@given(st.text(min_size=1, max_size=128, alphabet=string.printable + "é\x00"))
def test_an_id_is_kept_whole_or_not_at_all(text: str) -> None:
    kept = well_formed(text)
    assert kept in (text, None)
    assert (kept is not None) == (text.isascii() and text.isprintable() and " " not in text)


def test_what_is_to_follow_begins_when_the_response_was_sent() -> None:
    order: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        current().afterwards.append(lambda: order.append("afterwards"))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def send(message: Any) -> None:
        order.append(message["type"])

    asyncio.run(Identify(app)({"type": "http", "headers": []}, None, send))  # type: ignore[arg-type]
    assert order == ["http.response.start", "http.response.body", "afterwards"]

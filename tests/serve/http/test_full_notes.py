"""The proxy's notes before an application in the gateways' place."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.responses import JSONResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from cocite_serve.http.full_notes import FULL_HEADER, MOST_KINDS, PATH, FullNotes, RefuseWhenFull
from cocite_serve.http.own_refusals import OwnRefusals

GAP = b'{"context": "as in [CIT]", "rerank": 30}'


class Gateways:
    """Refuse each request, or answer it, and count them."""

    def __init__(self, full_s: float = 0.5) -> None:
        self.full_s, self.is_full, self.asked = full_s, True, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        assert (await receive())["body"]
        full = {"Retry-After": "2"} | ({FULL_HEADER: f"{self.full_s}"} if self.full_s else {})
        answer = JSONResponse({}, 429, full) if self.is_full else JSONResponse({"papers": []})
        await answer(scope, receive, send)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def refusing(gateways: Gateways, clock: Clock) -> RefuseWhenFull:
    return RefuseWhenFull(gateways, OwnRefusals((PATH,)), clock)


def test_while_all_are_full_one_refusal_stands_for_those_that_follow() -> None:
    gateways, clock = Gateways(), Clock()
    client = TestClient(refusing(gateways, clock))
    first, second = (client.post("/v1/recommend", content=GAP) for _ in range(2))
    assert gateways.asked == 1
    assert FULL_HEADER not in first.headers
    assert (second.status_code, second.headers["retry-after"]) == (429, "2")
    assert second.json()["error"] == "Too many requests are waiting; try again in 2 seconds."
    gateways.is_full, clock.now = False, 0.5
    assert client.post("/v1/recommend", content=GAP).status_code == 200


def test_where_some_replica_may_have_room_each_request_is_passed_on() -> None:
    gateways = Gateways(full_s=0.0)
    client = TestClient(refusing(gateways, Clock()))
    assert [client.post("/v1/recommend", content=GAP).status_code for _ in range(3)] == [429] * 3
    assert gateways.asked == 3


@pytest.mark.parametrize("path", ["/v1/recommend/batch", "/v1/rerank"])
def test_other_paths_are_passed_on_and_their_clients_do_not_get_the_header(path: str) -> None:
    gateways = Gateways()
    client = TestClient(refusing(gateways, Clock()))
    client.post("/v1/recommend", content=GAP)
    refused = client.post(path, content=GAP)
    assert gateways.asked == 2
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    assert FULL_HEADER not in refused.headers


@pytest.mark.parametrize(
    "other",
    [
        b'{"context": "as in [CIT]", "rerank": 5}',
        b'{"context": "as in [CIT]", "rerank": 30, "depth": 20}',
        b'{"title": "Parsing", "rerank": 30}',
        b'{"like": ["a"], "context": "as in [CIT]", "rerank": 30}',
        b'{"context": "as in [CIT]", "rerank": 30, "release": "beside"}',
        b'{"context": "as in [CIT]", "rerank": 30, "page": "token"}',
        b'{"text": "as in [CIT]", "rerank": 30}',
        b'{"context": "as in [CIT]", "rerank": [30]}',
        b'{"context": "as in [CIT]", "rerank": true}',
        b"[]",
        b"{",
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_what_may_be_of_another_size_is_passed_on(other: bytes) -> None:
    notes = FullNotes(Clock())
    notes.add(GAP, seconds=1.0, after=1)
    assert notes.after(GAP) == 1
    assert notes.after(other) is None


def test_another_text_of_the_same_size_is_refused() -> None:
    notes = FullNotes(Clock())
    notes.add(GAP, seconds=1.0, after=3)
    body = b'{"rerank": 30, "context": "shown by [CIT]", "top_k": 5, "deadline_ms": 900, "title": ""}'
    assert notes.after(body) == 3


def test_no_more_than_so_many_kinds_are_kept_and_none_after_its_time() -> None:
    clock = Clock()
    notes = FullNotes(clock)

    def body(number: int) -> bytes:
        return b'{"context": "x", "rerank": %d}' % number

    for number in range(MOST_KINDS + 5):
        notes.add(body(number), seconds=1.0, after=1)
    kept: Any = notes._full
    assert len(kept) == MOST_KINDS
    clock.now = 2.0
    notes.add(body(1), seconds=1.0, after=1)
    assert len(notes._full) == 1

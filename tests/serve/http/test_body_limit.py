from __future__ import annotations

import asyncio
import math
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from helpers.api_backend import InProcess, client
from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.http.body_limit import BodyLimit, read_body, replay


@pytest.mark.parametrize("declared", [True, False])
def test_large_bodies_are_refused(backend: InProcess, declared: bool) -> None:
    body = b"x" * 5000
    answer = client(backend).post(
        "/v1/recommend", content=body if declared else iter([body[:3000], body[3000:]])
    )
    assert answer.status_code == 413
    assert answer.json()["error"] == "The request's body is larger than the 4,096 bytes allowed."


@pytest.mark.parametrize("length", ["-1", "many", "4097"])
def test_a_declared_length_that_is_no_length_is_refused_unread(backend: InProcess, length: str) -> None:
    answer = client(backend).post("/v1/recommend", content=b"{}", headers={"Content-Length": length})
    assert answer.status_code == 413


def test_a_body_of_the_limit_is_read(backend: InProcess) -> None:
    body = b'{"title": "x"}'
    request = body + b" " * (4096 - len(body))
    answer = client(backend).post(
        "/v1/recommend",
        content=iter([request[:10], request[10:]]),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 200


SCOPE = {"type": "http", "path": "/v1/recommend", "headers": []}


def receiving(*parts: bytes, pause_s: float = 0.0):  # type: ignore[no-untyped-def]
    """What a client sends, part by part, with a pause before each; then it waits."""
    left = list(parts)

    async def receive() -> dict[str, object]:
        await asyncio.sleep(pause_s)
        if not left:
            await asyncio.sleep(3600)
        part = left.pop(0)
        return {"type": "http.request", "body": part, "more_body": part != b"END"}

    return receive


@pytest.mark.parametrize(
    "receive",
    [
        receiving(),
        receiving(b"{"),
        receiving(*[b" "] * 1000, pause_s=0.02),  # each byte comes in time, and the whole does not
    ],
    ids=["nothing", "half", "a byte at a time"],
)
def test_a_slow_body_is_ended_after_the_stated_time(receive) -> None:  # type: ignore[no-untyped-def]
    async def read() -> httpx.Response:
        async def app(*_: object) -> None:
            raise AssertionError("it is not passed on")

        sent: list[dict[str, object]] = []

        async def send(message) -> None:  # type: ignore[no-untyped-def]
            sent.append(message)

        async with asyncio.timeout(60):
            await BodyLimit(app, limit=4096, seconds=0.1)(dict(SCOPE), receive, send)
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}  # type: ignore[attr-defined]
        return httpx.Response(sent[0]["status"], headers=headers, content=sent[1]["body"])  # type: ignore[arg-type]

    answer = asyncio.run(read())
    assert (answer.status_code, answer.headers["connection"]) == (408, "close")
    assert answer.json()["error"] == "The request's body did not come within the 0.1 s allowed."
    assert answer.json()["reason"] == "body_too_slow"


def test_a_client_that_leaves_is_passed_to_nobody() -> None:
    async def gone() -> dict[str, object]:
        return {"type": "http.disconnect"}

    assert asyncio.run(read_body(dict(SCOPE), gone, 10, math.inf)) is None


@given(st.lists(st.binary(max_size=20), max_size=8))
def test_a_body_in_parts_is_read_whole(parts: list[bytes]) -> None:
    parts = [part for part in parts if part != b"END"]
    assert asyncio.run(read_body(dict(SCOPE), receiving(*parts, b"END"), 200, math.inf)) == b"".join(
        [*parts, b"END"]
    )


def test_slow_bodies_do_not_delay_others() -> None:
    app = FastAPI()

    @app.post("/")
    async def length(request: Request) -> int:
        return len(await request.body())

    app.add_middleware(BodyLimit, limit=4096, seconds=3600)

    begun = 0

    async def slow() -> object:
        nonlocal begun
        begun += 1
        yield b"{"
        await asyncio.sleep(3600)

    async def ask() -> None:
        transport = httpx.ASGITransport(app)
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://test") as served,
            asyncio.timeout(60),
        ):
            waiting = [asyncio.ensure_future(served.post("/", content=slow())) for _ in range(300)]
            while begun < len(waiting):
                await asyncio.sleep(0)
            assert (await served.post("/", content=b"{}")).json() == 2
            assert not any(one.done() for one in waiting)
            for one in waiting:
                one.cancel()
            ended = await asyncio.gather(*waiting, return_exceptions=True)
            assert {type(one) for one in ended} == {asyncio.CancelledError}

    asyncio.run(ask())


def test_a_body_that_was_read_comes_once() -> None:
    async def both() -> list[object]:
        again = replay(b"{}", receiving(b"END"))
        return [await again(), await again()]

    first, second = asyncio.run(both())
    assert (first["body"], first["more_body"], second["body"]) == (b"{}", False, b"END")  # type: ignore[index]


def test_so_many_large_bodies_are_held_until_their_answers_begin() -> None:
    async def run() -> None:
        begin, end = asyncio.Event(), asyncio.Event()
        came, bodies = asyncio.Semaphore(0), []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            bodies.append(len((await receive())["body"]))
            came.release()
            await begin.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            came.release()
            await end.wait()

        limited = BodyLimit(app, limit=10, larger={"/large": 20}, at_once=2, retry_after_s=3)

        async def receive() -> Any:
            return {"type": "http.request", "body": b"x" * 15}

        async def post(path: str) -> Any:
            sent: list[Any] = []

            async def send(message: Any) -> None:
                sent.append(message)

            await limited(SCOPE | {"path": path}, receive, send)
            return sent[0]

        first = [asyncio.ensure_future(post("/large")) for _ in range(2)]
        for _ in first:
            await came.acquire()
        refused = await post("/large")
        assert (refused["status"], dict(refused["headers"])[b"retry-after"]) == (429, b"3")
        assert (await post("/small"))["status"] == 413
        begin.set()
        for _ in first:
            await came.acquire()
        # The answers are not at their end, but the bodies are read: there is room for the next.
        next_one = asyncio.ensure_future(post("/large"))
        end.set()
        assert [(await one)["status"] for one in (*first, next_one)] == [200] * 3
        assert bodies == [15] * 3

    asyncio.run(run())

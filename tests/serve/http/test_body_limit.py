from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from helpers.api_backend import InProcess, client
from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.http.body_limit import ArrivingBytes, BodyLimit, read_body, replay


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
ROOM = ArrivingBytes(10**9, 1)


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

    assert asyncio.run(read_body(dict(SCOPE), gone, 10, math.inf, ROOM)) is None


@given(st.lists(st.binary(max_size=20), max_size=8))
def test_a_body_in_parts_is_read_whole(parts: list[bytes]) -> None:
    parts = [part for part in parts if part != b"END"]
    reading = read_body(dict(SCOPE), receiving(*parts, b"END"), 200, math.inf, ROOM)
    assert asyncio.run(reading) == b"".join([*parts, b"END"])


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


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 40), st.booleans()), max_size=40))
def test_bodies_that_are_not_whole_take_so_many_bytes_together(steps: list[tuple[int, int, bool]]) -> None:
    """As many clients as there are numbers send parts, and leave at some time, in any order."""
    arriving = ArrivingBytes(100, 1)
    clients: dict[int, tuple[ExitStack, Callable[[int], bool]]] = {}
    sizes: dict[int, int] = {}
    for name, length, leaves in steps:
        if name not in clients:
            stack = ExitStack()
            clients[name], sizes[name] = (stack, stack.enter_context(arriving.one())), 0
        fits = clients[name][1](length)
        sizes[name] += length
        others = sum(sizes.values()) - sizes[name]
        assert fits == (not others or others + sizes[name] <= 100)
        if leaves or not fits:
            clients.pop(name)[0].close()
            sizes.pop(name)
    for stack, _ in clients.values():
        stack.close()
    with arriving.one() as first, arriving.one() as second:
        assert (first(50), second(50), second(1)) == (True, True, False), (
            "nothing is left of those that ended"
        )


def test_a_part_too_many_of_all_bodies_is_refused_and_leaves_room_for_the_others() -> None:
    async def read() -> tuple[Any, Any]:
        arriving, came, rest = ArrivingBytes(100, 7), asyncio.Event(), asyncio.Event()
        parts = receiving(b"x" * 60, b"END")

        async def receive() -> dict[str, object]:
            if came.is_set():
                await rest.wait()
            came.set()
            return await parts()

        slow = asyncio.ensure_future(read_body(dict(SCOPE), receive, 200, math.inf, arriving))
        await came.wait()
        await asyncio.sleep(0)
        refused = await read_body(dict(SCOPE), receiving(b"y" * 60), 200, math.inf, arriving)
        small = await read_body(dict(SCOPE), receiving(b"END"), 200, math.inf, arriving)
        rest.set()
        assert (await slow, small) == (b"x" * 60 + b"END", b"END")
        return refused, await read_body(dict(SCOPE), receiving(b"z" * 90, b"END"), 200, math.inf, arriving)

    refused, later = asyncio.run(read())
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
    assert later == b"z" * 90 + b"END"


def test_a_server_that_keeps_its_message_keeps_no_body() -> None:
    """As Ray Serve does in a gateway, for as long as the gaps of a draft are answered."""
    message = {"type": "http.request", "body": b"the words of a draft", "more_body": False}

    async def receive() -> dict[str, object]:
        return message

    body = asyncio.run(read_body(dict(SCOPE), receive, 100, math.inf, ArrivingBytes(100, 1)))
    assert body == b"the words of a draft"
    assert "body" not in message


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

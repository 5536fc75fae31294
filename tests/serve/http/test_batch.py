"""Many requests in one: each is answered as alone, a few at a time, and nothing goes on for a client that left."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from cocite.errors import InputError
from cocite_serve.http.batch import Batch, LineResponse, parse_batch
from cocite_serve.http.problems import OverloadedError, add_handlers
from cocite_serve.http.schemas import RecommendRequest, RecommendResponse, Took
from cocite_serve.settings import ServeSettings

NDJSON = "application/x-ndjson; charset=utf-8"
VALUES = st.lists(
    st.dictionaries(st.text(max_size=4), st.one_of(st.text(max_size=9), st.integers())),
    min_size=1,
    max_size=9,
)


@given(VALUES)
def test_a_list_and_lines_are_the_same_batch(values: list[Any]) -> None:
    assert parse_batch(json.dumps(values).encode(), "application/json", most=9) == values
    lines = "\r\n".join(json.dumps(value) for value in values) + "\n\n"
    assert parse_batch(lines.encode(), NDJSON, most=9) == values


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b"[]", "application/json", "a batch may have 1 to 3 requests, got 0"),
        (b"\n \n", NDJSON, "a batch may have 1 to 3 requests, got 0"),
        (b"[{}, {}, {}, {}]", "application/json", "a batch may have 1 to 3 requests, got 4"),
        (b"{}\n" * 9_000, NDJSON, "a batch may have 1 to 3 requests, got 9,000"),
        (b'{"title": "x"}', "application/json", "the body must be a list of requests; lines of them"),
        (b"[{]", "application/json", "the body is not valid JSON"),
        (b"[" * 100_000, "application/json", "the body is not valid JSON: recursion limit exceeded"),
    ],
)
def test_what_is_no_batch_is_refused(body: bytes, kind: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_batch(body, kind, most=3)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [(b"{}", "text/csv", 415), (b"{}", "", 415), (b"\xff", "application/json", 400), (b"\xff", NDJSON, 400)],
)
def test_another_form_of_body_is_refused(body: bytes, kind: str, status: int) -> None:
    with pytest.raises(HTTPException, match=str(status)):
        parse_batch(body, kind, most=3)


def test_a_line_that_is_no_json_is_refused_alone() -> None:
    first, second, third = parse_batch(b'{"title": "x"}\n{"title":\n' + b"[" * 100_000, NDJSON, most=3)
    assert first == {"title": "x"}
    assert isinstance(second, RequestValidationError)
    assert isinstance(third, RequestValidationError)


class Answers:
    """Answers a request when it is told to, and refuses some."""

    def __init__(self) -> None:
        self.waiting: dict[str, asyncio.Event] = {}
        self.most = 0
        self.cancelled: list[str] = []

    async def __call__(self, request: RecommendRequest) -> RecommendResponse:
        self.waiting[request.title] = asyncio.Event()
        self.most = max(self.most, len(self.waiting))
        try:
            if request.title == "busy":
                raise OverloadedError("x", 2.5)
            if request.title == "defect":
                raise ZeroDivisionError
            await self.waiting[request.title].wait()
        except asyncio.CancelledError:
            self.cancelled.append(request.title)
            raise
        finally:
            del self.waiting[request.title]
        return RecommendResponse(
            read_as="title and abstract",
            papers=[],
            context=request.title,
            model_version="m",
            index_version="i",
            took_ms=Took(retrieve=0, rerank=0, total=0),
        )


def batch(answers: Answers, at_once: int = 2) -> Batch:
    app = FastAPI()
    add_handlers(app, ServeSettings(index="unused"))
    return Batch(app, Request({"type": "http", "path": "/", "headers": []}), answers, at_once)


def test_each_line_comes_as_soon_as_its_request_is_done() -> None:
    async def lines() -> list[Any]:
        answers, found = Answers(), []
        async with aclosing(batch(answers).lines([{"title": title} for title in "abcd"])) as source:
            for title in "bcad":
                coming = asyncio.ensure_future(anext(source))
                while title not in answers.waiting:
                    await asyncio.sleep(0)
                answers.waiting[title].set()
                found.append(json.loads(await coming))
        assert answers.most == 2
        return found

    found = asyncio.run(lines())
    assert [(line["index"], line["answer"]["context"]) for line in found] == [
        (1, "b"),
        (2, "c"),
        (0, "a"),
        (3, "d"),
    ]
    assert {line["status"] for line in found} == {200}


def test_a_refusal_is_what_it_would_be_alone() -> None:
    async def lines() -> dict[int, Any]:
        broken = parse_batch(b"{", NDJSON, most=3)
        values = [{"title": "busy"}, {"title": "defect"}, {"titel": "x"}, [], *broken]
        found = [json.loads(line) async for line in batch(Answers()).lines(values)]
        return {line["index"]: line for line in found}

    found = asyncio.run(lines())
    assert {index: line["status"] for index, line in found.items()} == {
        0: 429,
        1: 500,
        2: 422,
        3: 422,
        4: 422,
    }
    assert found[0]["retry_after"] == 3
    assert "ZeroDivision" not in json.dumps(found[1])
    sentences = [found[index]["problem"]["error"] for index in (2, 3, 4)]
    assert sentences[0] == "titel: there is no such field (did you mean 'title'?)."
    assert sentences[1].startswith("The body must be a JSON object")
    assert sentences[2].startswith("The body is not valid JSON")


def test_when_the_client_leaves_the_rest_is_cancelled() -> None:
    async def leave() -> Answers:
        answers = Answers()
        response = LineResponse(batch(answers).lines([{"title": title} for title in "abcdef"]))
        gone = asyncio.Event()

        async def receive() -> Any:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(_: Any) -> None:
            return

        scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
        sending = asyncio.ensure_future(response(scope, receive, send))
        while len(answers.waiting) < 2:
            await asyncio.sleep(0)
        gone.set()
        await sending
        return answers

    answers = asyncio.run(leave())
    assert sorted(answers.cancelled) == ["a", "b"]
    assert answers.waiting == {}

"""``/v1/recommend/batch``: many requests in one, each answered as it would be alone, as soon as it is done."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from itertools import islice
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from cocite.errors import InputError
from cocite_serve.http.schemas import RecommendRequest, RecommendResponse

JSON = "application/json"
NDJSON = "application/x-ndjson"
LINES = (NDJSON, "application/ndjson", "application/jsonl")
"""Media types of one JSON value a line."""


def parse_batch(body: bytes, media_type: str, most: int) -> list[Any]:
    """The requests of a batch, as JSON values; a line that is no JSON is a :class:`RequestValidationError`.

    Args:
        body: of the request.
        media_type: of the body.
        most: requests in a batch.

    Raises:
        HTTPException: 400, it is not UTF-8; 415, it is of another media type.
        InputError: it is no list, an empty one, or a too long one.

    Example:
        >>> parse_batch(b'{"title": "Parsing"}\\n\\n{"title": "Trees"}\\n', "application/x-ndjson", most=64)
        [{'title': 'Parsing'}, {'title': 'Trees'}]
    """
    kind = media_type.partition(";")[0].strip().lower()
    if kind not in (JSON, *LINES):
        raise HTTPException(415, f"The body must be a JSON list ({JSON}), or JSON lines ({NDJSON}).")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HTTPException(400, "The body is not UTF-8.") from error
    if kind == JSON:
        try:
            values = from_json(text)
        except ValueError as error:
            raise InputError(f"the body is not valid JSON: {error}") from error
        if not isinstance(values, list):
            raise InputError(f"the body must be a list of requests; lines of them are sent as {NDJSON}")
    else:
        lines = [line for line in text.split("\n") if line.strip()]
        values = [_line(line) for line in lines[: most + 1]]
        values += [None] * (len(lines) - len(values))
    if not 1 <= len(values) <= most:
        raise InputError(f"a batch may have 1 to {most:,} requests, got {len(values):,}")
    return values


def _line(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError as error:
        details = {"type": "json_invalid", "loc": ("body",), "msg": "", "ctx": {"error": str(error)}}
        return RequestValidationError([details])


class AnswerLines(ABC):
    """Answers the parts of a request, several at a time, each by a line.

    Args:
        app: whose handlers of errors make the refusals.
        request: that the parts came in.
        at_once: how many are worked on at a time.

    Example:
        >>> class Numbers(AnswerLines):
        ...     async def line(self, index, value):
        ...         return f"{index}: {value}".encode()
        >>> async def found():
        ...     return [line async for line in Numbers(FastAPI(), Request({"type": "http"}), 4).lines([7, 8])]
        >>> sorted(asyncio.run(found()))
        [b'0: 7', b'1: 8']
    """

    def __init__(self, app: FastAPI, request: Request, at_once: int) -> None:
        self._app, self._request, self._at_once = app, request, at_once

    @abstractmethod
    async def line(self, index: int, value: Any) -> bytes:
        """The line of one part."""

    async def lines(self, values: Sequence[Any]) -> AsyncGenerator[bytes, None]:
        """A line for each part, in the order in which they are done; the rest ends where nobody reads on."""
        todo = iter(list(enumerate(values)))
        pending = {asyncio.ensure_future(self.line(*item)) for item in islice(todo, self._at_once)}
        try:
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                pending |= {asyncio.ensure_future(self.line(*item)) for item in islice(todo, len(done))}
                for task in done:
                    yield task.result()
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def refusal(self, error: Exception) -> tuple[int, int | None, str]:
        """Status, seconds after which to try again, and body, that a refused part would get alone."""
        handlers = self._app.exception_handlers
        handler: Any = next(handlers[kind] for kind in type(error).__mro__ if kind in handlers)
        response: Response = await handler(self._request, error)
        after = response.headers.get("retry-after")
        return response.status_code, None if after is None else int(after), bytes(response.body).decode()


class Batch(AnswerLines):
    """Answers the requests of a batch, several at a time.

    Args:
        app, request, at_once: as of :class:`AnswerLines`.
        recommend: answers one.

    Example:
        A batch belongs to a request of an application; see :func:`cocite_serve.http.recommend_paths.recommend_router`:

        >>> batch = Batch(FastAPI(), Request({"type": "http"}), recommend=None, at_once=4)
        >>> asyncio.run(anext(batch.lines([])), debug=False)
        Traceback (most recent call last):
        ...
        StopAsyncIteration
    """

    def __init__(
        self,
        app: FastAPI,
        request: Request,
        recommend: Callable[[RecommendRequest], Awaitable[RecommendResponse]],
        at_once: int,
    ) -> None:
        super().__init__(app, request, at_once)
        self._recommend = recommend

    async def line(self, index: int, value: Any) -> bytes:
        """The line of one request."""
        try:
            if isinstance(value, Exception):
                raise value
            try:
                request = RecommendRequest.model_validate(value)
            except ValidationError as error:
                raise RequestValidationError(error.errors()) from error
            answer = (await self._recommend(request)).model_dump_json()
        except Exception as error:
            status, after, problem = await self.refusal(error)
            seconds = "" if after is None else f',"retry_after":{after}'
            return f'{{"index":{index},"status":{status}{seconds},"problem":{problem}}}\n'.encode()
        return f'{{"index":{index},"status":200,"answer":{answer}}}\n'.encode()


class LineResponse(StreamingResponse):
    """Lines of JSON as they come; closes their source when the client leaves.

    Example:
        >>> async def source():
        ...     yield b"{}"
        >>> LineResponse(source()).media_type
        'application/x-ndjson'
    """

    media_type = NDJSON

    async def stream_response(self, send: Send) -> None:
        """Send all lines."""
        async with aclosing(self.body_iterator):  # type: ignore[type-var]
            await super().stream_response(send)

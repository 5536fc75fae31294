"""A gateway's call of a stage, without Ray Serve."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import pytest
from ray.exceptions import RayActorError

from cocite_serve.proxy import PAUSES_S
from cocite_serve.replicas.stage_calls import result_of


class Response:
    """A response of Ray Serve, which comes when the test lets it."""

    def __init__(self, outcome: Any = None) -> None:
        self.outcome, self.cancelled = outcome, False
        self.came = asyncio.Event()

    def __await__(self) -> Generator[Any, None, Any]:
        yield from self.came.wait().__await__()
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    def cancel(self) -> None:
        self.cancelled = True


def ready(outcome: Any) -> Response:
    response = Response(outcome)
    response.came.set()
    return response


def test_another_replica_is_asked_where_one_died() -> None:
    async def run() -> Any:
        left = [ready(RayActorError()), ready(5)]
        return await result_of("stage", lambda _: left.pop(0))

    assert asyncio.run(run()) == 5


def test_after_all_attempts_the_death_is_raised() -> None:
    calls = []

    def call(_: Any) -> Response:
        calls.append(1)
        return ready(RayActorError())

    async def run() -> Any:
        return await result_of("stage", call)

    with pytest.raises(RayActorError, match="actor"):
        asyncio.run(run())
    assert len(calls) == len(PAUSES_S) + 1


def test_what_the_stage_raised_is_raised_at_once() -> None:
    async def run() -> Any:
        return await result_of("stage", lambda _: ready(ValueError("a defect")))

    with pytest.raises(ValueError, match="a defect"):
        asyncio.run(run())


def test_when_the_caller_leaves_the_stage_is_told() -> None:
    async def run() -> bool:
        response = Response()
        task = asyncio.create_task(result_of("stage", lambda _: response))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError, match="^$"):
            await task
        return response.cancelled

    assert asyncio.run(run())

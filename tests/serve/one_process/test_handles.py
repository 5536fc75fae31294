"""A stage of this process, called as Ray Serve's handle of a replica is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
from helpers.event_loops import running_loop

from cocite_serve.one_process.handles import LocalHandle, from_threads


class Stage:
    def __init__(self) -> None:
        self.left = threading.Event()

    async def double(self, number: int) -> int:
        return 2 * number

    async def wait(self) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.left.set()
            raise

    async def fail(self) -> None:
        raise KeyError("a defect")


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with running_loop() as loop:
        yield loop


def test_another_thread_waits_for_a_call(loop: asyncio.AbstractEventLoop) -> None:
    handle = LocalHandle(Stage(), from_threads(loop))
    assert handle.double.remote(21).result(timeout_s=10) == 42
    endless = handle.wait.remote()
    with pytest.raises(TimeoutError, match="^$"):
        endless.result(timeout_s=0.01)
    endless.cancel()
    with pytest.raises(KeyError, match="a defect"):
        handle.fail.remote().result(timeout_s=10)


def test_a_stage_is_told_when_its_caller_leaves(loop: asyncio.AbstractEventLoop) -> None:
    stage = Stage()
    call = LocalHandle(stage, from_threads(loop)).wait.remote()
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(10)  # it has begun
    call.cancel()
    assert stage.left.wait(10)


def test_the_loop_itself_awaits_a_call_and_gives_it_up() -> None:
    async def ask() -> tuple[int, bool]:
        stage = Stage()
        handle = LocalHandle(stage, asyncio.create_task)
        with pytest.raises(TimeoutError, match="^$"):
            async with asyncio.timeout(0.05):
                await handle.wait.remote()
        answer = await handle.double.remote(4)
        return answer, stage.left.is_set()

    assert asyncio.run(ask()) == (8, True)

"""The driver with real threads and an event loop; the stages are small ones whose steps a test can hold up."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from helpers.span_receiver import receiving, traced
from numpy.typing import NDArray

from cocite_serve.replicas.compute_thread import ComputeThread
from cocite_serve.replicas.pace import Pace
from cocite_serve.replicas.scheduler import Scheduler
from cocite_serve.replicas.steps import RefusedError, Work
from cocite_serve.replicas.worker import Worker
from cocite_serve.tracing import exporting
from cocite_serve.tracing.origins import Origin, request_ids, working_for
from cocite_serve.tracing.spans import begin_trace


class Numbers:
    """A job is a list of numbers, which are read one by one; its result is what was read."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()
        self.chunks: list[list[int]] = []
        self.results: dict[int, list[int]] = {}

    def open(self, job: list[int]) -> NDArray[np.int64]:
        if job and job[0] == -1:
            raise ValueError("cannot be opened")
        self.results[id(job)] = []
        return np.ones(len(job), np.int64)

    def read(self, parts: Sequence[tuple[list[int], int]]) -> None:
        self.begun.set()
        assert self.go.wait(30)
        new = []
        for job, count in parts:
            done = len(self.results[id(job)])
            new.append((job, job[done : done + count]))
        if any(number == 13 for _, numbers in new for number in numbers):
            raise ValueError("13 cannot be read")
        self.chunks.append([number for _, numbers in new for number in numbers])
        for job, numbers in new:
            self.results[id(job)] += numbers

    def close(self, job: list[int], items: int) -> tuple[list[int], int]:
        return self.results[id(job)], items


def worker(stage: Numbers, budget: int = 4, max_wait_s: float = 60.0) -> Worker[list[int], Any]:
    scheduler = Scheduler(
        time.monotonic, budget=budget, max_wait_s=max_wait_s, pace=Pace(1, 0.001), item_cost=1
    )
    return Worker(ComputeThread(models=False), stage, scheduler)


def work(job: list[int], seconds: float = 60.0, partial: bool = False) -> Work:
    return Work(len(job), time.monotonic() + seconds, partial=partial)


def test_requests_share_chunks_and_get_their_own_results() -> None:
    stage = Numbers()
    computing = worker(stage)
    jobs = [[10 * i + j for j in range(3)] for i in range(5)]

    async def all_of_them() -> Any:
        stage.go.clear()
        calls = [asyncio.ensure_future(computing.run(job, work(job))) for job in jobs]
        await asyncio.sleep(0.05)
        stage.go.set()
        return await asyncio.gather(*calls)

    assert asyncio.run(all_of_them()) == [(job, 3) for job in jobs]
    assert max(map(len, stage.chunks)) == 4
    assert len(computing) == 0


def test_the_event_loop_is_free_while_a_chunk_is_computed() -> None:
    stage = Numbers()
    computing = worker(stage)

    async def ticks() -> int:
        stage.go.clear()
        call = asyncio.ensure_future(computing.run([1], work([1])))
        count = 0
        while count < 5:
            await asyncio.sleep(0.01)
            count += 1
        assert not call.done()
        stage.go.set()
        await call
        return count

    assert asyncio.run(ticks()) == 5


def test_one_requests_error_is_not_the_others() -> None:
    stage = Numbers()
    computing = worker(stage, budget=9)
    jobs = [[1, 2], [13, 14], [-1], [5, 6]]

    async def all_of_them() -> Any:
        return await asyncio.gather(*(computing.run(job, work(job)) for job in jobs), return_exceptions=True)

    first, second, third, last = asyncio.run(all_of_them())
    assert (first, last) == (([1, 2], 2), ([5, 6], 2))
    assert str(second) == "13 cannot be read"
    assert str(third) == "cannot be opened"
    assert len(computing) == 0


@pytest.mark.parametrize("jobs", [[[13]], [[-1]], [[1, 2], [13, 14]]])
def test_a_step_that_raises_changes_no_estimate(jobs: list[list[int]]) -> None:
    """It may end at once: waits would seem shorter than they are, and too many requests be taken in."""
    pace = Pace(1, 2.0)
    scheduler = Scheduler(
        time.monotonic, budget=2 * len(jobs), max_wait_s=60.0, pace=pace, item_cost=1, overhead_s=4.0
    )
    thread, queued = ComputeThread(models=False), threading.Event()
    computing: Worker[list[int], Any] = Worker(thread, Numbers(), scheduler)

    async def all_of_them() -> Any:
        thread.start(lambda: queued.wait(30))  # so that all are in one chunk
        calls = [asyncio.ensure_future(computing.run(job, Work(len(job), math.inf))) for job in jobs]
        await asyncio.sleep(0)
        queued.set()
        return await asyncio.gather(*calls, return_exceptions=True)

    assert isinstance(asyncio.run(all_of_them())[-1], ValueError)
    thread.run_first(lambda: None)  # the step has ended
    assert pace.seconds(1) == 2.0
    assert scheduler._opening.seconds(1) == 2.0 or jobs[-1] != [-1]


def test_an_answer_counts_as_one_and_a_step_that_raises_does_not() -> None:
    computing = worker(Numbers())
    begun = computing.answered_s
    for job, error in (([13], "13 cannot be read"), ([-1], "cannot be opened")):
        with pytest.raises(ValueError, match=error):
            asyncio.run(computing.run(job, work(job)))
        computing._thread.run_first(lambda: None)  # the step has ended
        assert computing.answered_s == begun < computing.ended_s
    asyncio.run(computing.run([1], work([1])))
    assert computing.answered_s > begun


def test_other_work_of_the_thread_has_its_turn_between_two_steps() -> None:
    stage, thread = Numbers(), ComputeThread(models=False)
    scheduler = Scheduler(time.monotonic, budget=1, max_wait_s=60.0, pace=Pace(1, 0.001), item_cost=1)
    computing: Worker[list[int], Any] = Worker(thread, stage, scheduler)

    async def both() -> int:
        stage.go.clear()
        job = list(range(100, 150))
        call = asyncio.ensure_future(computing.run(job, work(job)))
        await asyncio.to_thread(stage.begun.wait, 30)
        between = asyncio.ensure_future(thread.run(lambda: len(stage.chunks)))
        await asyncio.sleep(0.01)
        stage.go.set()
        await call
        return await between

    assert asyncio.run(both()) == 1


def test_nothing_more_is_computed_for_a_caller_that_left() -> None:
    stage = Numbers()
    computing = worker(stage, budget=1)
    leaving, staying = [1, 2, 3, 4, 5], [6]

    async def leave() -> Any:
        stage.go.clear()
        call = asyncio.ensure_future(computing.run(leaving, work(leaving)))
        await asyncio.to_thread(stage.begun.wait, 30)
        other = asyncio.ensure_future(computing.run(staying, work(staying)))
        await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError, match="^$"):
            await call
        assert len(computing) == 1
        stage.go.set()
        return await other

    assert asyncio.run(leave()) == ([6], 1)
    assert stage.chunks == [[1], [6]]


def test_a_request_whose_deadline_passes_while_it_waits_is_not_computed() -> None:
    stage = Numbers()
    computing = worker(stage)

    async def wait() -> None:
        stage.go.clear()
        first = asyncio.ensure_future(computing.run([1], work([1])))
        await asyncio.to_thread(stage.begun.wait, 30)
        late = asyncio.ensure_future(computing.run([2], work([2], seconds=0.05)))
        await asyncio.sleep(0.1)
        stage.go.set()
        await first
        with pytest.raises(TimeoutError, match="the deadline passed before"):
            await late

    asyncio.run(wait())
    assert stage.chunks == [[1]]


def test_who_would_wait_too_long_is_refused_at_once() -> None:
    stage = Numbers()
    computing = worker(stage, max_wait_s=0.01)

    async def fill() -> None:
        stage.go.clear()
        job = list(range(100, 150))
        call = asyncio.ensure_future(computing.run(job, work(job)))
        await asyncio.to_thread(stage.begun.wait, 30)
        with pytest.raises(RefusedError, match="it would wait"):
            computing.admit(work(job))
        with pytest.raises(RefusedError, match="it would wait"):
            await computing.run(job, work(job))
        stage.go.set()
        await call
        computing.admit(work(job))

    asyncio.run(fill())


def test_a_defect_of_the_scheduler_reaches_the_callers() -> None:
    stage = Numbers()
    computing = worker(stage)
    computing._scheduler.next = lambda: 1 / 0  # type: ignore[assignment, method-assign]

    async def ask() -> None:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError, match="division"):
                await computing.run([1], work([1]))

    asyncio.run(ask())


class Panic(BaseException):
    """As what a panic of a library in Rust is raised as."""


def test_a_panic_ends_one_request_and_not_those_that_come_later() -> None:
    stage = Numbers()
    computing = worker(stage, budget=9)
    read = stage.read

    def panic(parts: Sequence[tuple[list[int], int]]) -> None:
        if any(13 in job for job, _ in parts):
            raise Panic
        read(parts)

    stage.read = panic  # type: ignore[method-assign]

    async def ask(*jobs: list[int]) -> Any:
        return await asyncio.gather(*(computing.run(job, work(job)) for job in jobs), return_exceptions=True)

    failed, beside = asyncio.run(ask([13], [1, 2]))
    assert str(failed) == "a step ended with Panic"
    assert isinstance(failed.__cause__, Panic)
    assert beside == ([1, 2], 2)
    assert asyncio.run(ask([3])) == [([3], 1)]


def test_a_step_works_for_the_requests_that_it_computes() -> None:
    stage = Numbers()
    computing = worker(stage, budget=4)
    told: list[tuple[list[int], str]] = []
    read = stage.read

    def tell(parts: Sequence[tuple[list[int], int]]) -> None:
        read(parts)
        told.append((stage.chunks[-1], request_ids()))

    stage.read = tell  # type: ignore[method-assign]

    async def request(id_: str, job: list[int]) -> None:
        with working_for((Origin(id_),)):
            await computing.run(job, work(job))

    async def both() -> None:
        stage.go.clear()
        calls = [
            asyncio.ensure_future(request(id_, job)) for id_, job in (("one", [1, 2]), ("two", [3, 4, 5]))
        ]
        await asyncio.sleep(0.05)
        stage.go.set()
        await asyncio.gather(*calls)

    asyncio.run(both())
    of = {number: ids for numbers, ids in told for number in numbers}
    assert "one" in of[1]
    assert of[5] == "two"
    for numbers, ids in told:
        assert set(ids.split()) == {"one" if number < 3 else "two" for number in numbers}


def test_a_trace_tells_of_the_queue_and_of_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Numbers()
    computing = worker(stage, budget=2)

    async def ask(job: list[int]) -> None:
        with working_for(begin_trace("POST", "5f0c").origins):
            await computing.run(job, work(job))

    with receiving() as receiver, traced(monkeypatch, receiver.url):
        asyncio.run(ask([1, 2, 3]))
        with pytest.raises(ValueError, match="13 cannot be read"):
            asyncio.run(ask([13]))
        computing._thread.run_first(lambda: None)  # the step has ended
        exporting.flush()
        spans = receiver.of("5f0c")
    assert [span.name for span in spans[:5]] == ["queue", "open", "chunk", "chunk", "close"]
    sizes = [
        (span.attributes["cocite.batch.items"], span.attributes["cocite.batch.cost"]) for span in spans[2:4]
    ]
    assert sizes == [(2, 2), (1, 1)]
    assert [span.name for span in spans[5:]] == ["queue", "open", "chunk"], "it is not closed"


def test_the_queue_ends_for_a_caller_that_left(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Numbers()
    computing = worker(stage, budget=1)

    async def leave() -> None:
        stage.go.clear()
        first = asyncio.ensure_future(computing.run([1], work([1])))
        await asyncio.to_thread(stage.begun.wait, 30)
        with working_for(begin_trace("POST", "left").origins):
            call = asyncio.ensure_future(computing.run([2], work([2])))
        await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError, match="^$"):
            await call
        stage.go.set()
        await first

    with receiving() as receiver, traced(monkeypatch, receiver.url):
        asyncio.run(leave())
        exporting.flush()
        assert [span.name for span in receiver.of("left")] == ["queue"]

"""The driver of a replica: the event loop enqueues requests and awaits them, one thread computes what a scheduler says.

Errors: what a step raises reaches the caller of its request. A chunk of several requests is then computed anew request
by request, so that one request's error is not the others'. A caller that is cancelled (its client has left) takes its
request out of the queue.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cocite_serve.replicas.compute_thread import ComputeThread
from cocite_serve.replicas.scheduler import Scheduler
from cocite_serve.replicas.steps import Chunk, Close, Late, Open, Step, Work
from cocite_serve.tracing.origins import Origins, origins, working_for
from cocite_serve.tracing.spans import Attributes, Spans, span

Job = TypeVar("Job")
Result = TypeVar("Result")
AnyJob = TypeVar("AnyJob", contravariant=True)
AnyResult = TypeVar("AnyResult", covariant=True)


class Stage(Protocol[AnyJob, AnyResult]):
    """What a stage computes in each step of a request, in the worker's thread.

    Example:
        >>> class Squares:
        ...     def open(self, job): return np.ones(len(job), np.int64)
        ...     def read(self, parts):
        ...         for job, count in parts:
        ...             job["read"] = job.get("read", 0) + count
        ...     def close(self, job, items): return job["read"] ** 2
        >>> stage, job = Squares(), {}
        >>> stage.read([(job, 3)])
        >>> stage.close(job, 3)
        9
    """

    def open(self, job: AnyJob) -> NDArray[np.int64]:
        """Prepare a job. Returns the costs of its items, in the order in which they are read."""
        ...

    def read(self, parts: Sequence[tuple[AnyJob, int]]) -> None:
        """Compute the next items of some jobs: how many of each."""
        ...

    def close(self, job: AnyJob, items: int) -> AnyResult:
        """The result of a job of so many items, of which those that were read count."""
        ...


@dataclass(eq=False)
class _Waiting(Generic[Job, Result]):
    """A job, and where its result goes."""

    job: Job
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Result]
    origins: Origins = field(default_factory=origins)
    queued: Spans = field(default_factory=lambda: span("queue"))
    """Until its first step."""

    def settle(self, result: Result | None, error: BaseException | None) -> None:
        """Hand the result or the error to the caller, from any thread; one that has left is none."""
        try:
            self.loop.call_soon_threadsafe(self._settle, result, error)
        except RuntimeError:
            return  # its event loop has ended

    def _settle(self, result: Result | None, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)  # type: ignore[arg-type]


class Worker(Generic[Job, Result]):
    """Computes jobs in one thread, in the order that a scheduler says.

    Args:
        thread: where steps are computed.
        stage: computes them.
        scheduler: says which; nobody else may use it.
        observe: takes each step that is done, the requests that are left and the seconds of their work; in the thread.

    Example:
        >>> from cocite_serve.replicas.pace import Pace
        >>> class Sums:
        ...     def open(self, job): return np.ones(len(job), np.int64)
        ...     def read(self, parts): pass
        ...     def close(self, job, items): return sum(job)
        >>> scheduler = Scheduler(time.monotonic, budget=2, max_wait_s=9.0, pace=Pace(1, 0.001), item_cost=1)
        >>> worker = Worker(ComputeThread(models=False), Sums(), scheduler)
        >>> async def both():
        ...     work = Work(items=3, deadline=time.monotonic() + 9)
        ...     return await asyncio.gather(worker.run([1, 2, 3], work), worker.run([4, 5, 6], work))
        >>> asyncio.run(both())
        [6, 15]
    """

    def __init__(
        self,
        thread: ComputeThread,
        stage: Stage[Job, Result],
        scheduler: Scheduler,
        observe: Callable[[Step | None, int, float], None] | None = None,
    ) -> None:
        self._thread, self._stage, self._scheduler, self._observe = thread, stage, scheduler, observe
        self._lock = threading.Lock()
        self._waiting: dict[int, _Waiting[Job, Result]] = {}
        self._computing = False
        self._began_s: float | None = None
        self._ended_s = self._answered_s = time.monotonic()

    @property
    def began_s(self) -> float | None:
        """When the step under way began, by ``time.monotonic``; None: there is none."""
        return self._began_s

    @property
    def ended_s(self) -> float:
        """When the last step ended, whether or not it raised an error."""
        return self._ended_s

    @property
    def answered_s(self) -> float:
        """When the last result was computed."""
        return self._answered_s

    def __len__(self) -> int:
        """How many requests are in the replica."""
        return len(self._waiting)

    def seconds_left(self) -> float:
        """Seconds of work in the replica."""
        with self._lock:
            return self._scheduler.seconds_left()

    def admit(self, work: Work, before: int = 0) -> None:
        """Raise what :meth:`run` would raise now; ``before``: items that are sure to come first.

        Raises:
            RefusedError: a request would wait too long for others.
        """
        with self._lock:
            self._scheduler.admit(work, before)

    async def run(self, job: Job, work: Work) -> Result:
        """The result of a job.

        Args:
            job: for the stage.
            work: its items and its deadline, by the scheduler's clock.

        Raises:
            RefusedError: it would wait too long for others.
            TimeoutError: its deadline passed before it was done.
        """
        loop = asyncio.get_running_loop()
        waiting: _Waiting[Job, Result] = _Waiting(job, loop, loop.create_future())
        with self._lock:
            ticket = self._scheduler.submit(work)
            self._waiting[ticket] = waiting
            begin, self._computing = not self._computing, True
        if begin:
            self._thread.start(self._compute)
        try:
            return await waiting.future
        finally:
            waiting.queued.end()  # where there was no step
            with self._lock:
                self._scheduler.cancel(ticket)  # nothing where it was answered
                self._waiting.pop(ticket, None)

    def _compute(self) -> None:
        """Compute a step, and then the next one, until there is nothing to do.

        Each step is work of its own for the thread, so that a golden query has its turn between two of them.
        """
        try:
            if self._compute_next():
                self._thread.start(self._compute)
        except BaseException as error:  # nobody awaits this thread: its callers would wait for ever
            with self._lock:
                self._computing, self._began_s = False, None
                for waiting in self._waiting.values():
                    waiting.settle(None, error)
            raise

    def _compute_next(self) -> bool:
        """Compute the next step. Returns whether there was one."""
        with self._lock:
            step = self._scheduler.next()
            if step is None:
                # Its callers have their results, or are about to take them.
                if self._observe is not None:
                    self._observe(None, 0, 0.0)
                self._computing = False
                return False
            jobs = self._jobs(step)
        self._began_s = begin = time.monotonic()
        with _told(step, jobs):
            costs, is_done = self._step(step, jobs)
        self._ended_s, self._began_s = time.monotonic(), None
        seconds = self._ended_s - begin
        with self._lock:
            self._scheduler.finished(seconds if is_done else None, costs)
            if self._observe is not None:
                self._observe(step, len(self._waiting), self._scheduler.seconds_left())
        return True

    def _jobs(self, step: Step) -> list[tuple[int, _Waiting[Job, Result]]]:
        """The jobs of a step with their numbers of items; those whose callers have just left are not among them."""
        parts = step.parts if isinstance(step, Chunk) else ((step.ticket, 0),)
        return [(count, self._waiting[ticket]) for ticket, count in parts if ticket in self._waiting]

    def _step(
        self, step: Step, jobs: list[tuple[int, _Waiting[Job, Result]]]
    ) -> tuple[NDArray[np.int64] | None, bool]:
        """Compute a step; what it raises goes to the callers.

        Returns:
            The costs of an opened job's items, and whether nothing was raised.
        """
        try:
            if isinstance(step, Chunk):
                self._stage.read([(waiting.job, count) for count, waiting in jobs])
                return None, True
            for _, waiting in jobs:
                if isinstance(step, Open):
                    return self._stage.open(waiting.job), True
                if isinstance(step, Close):
                    result = self._stage.close(waiting.job, step.items)
                    self._answered_s = time.monotonic()
                    waiting.settle(result, None)
                if isinstance(step, Late):
                    waiting.settle(None, TimeoutError("the deadline passed before the request was computed"))
        except BaseException as error:  # a panic of a library in Rust is no Exception, and one request's, too
            if len(jobs) > 1:
                for job in jobs:
                    self._step(step, [job])
            else:
                self._fail(jobs[0][1], _as_exception(error))
            return np.zeros(0, np.int64), False
        return np.zeros(0, np.int64), True

    def _fail(self, waiting: _Waiting[Job, Result], error: Exception) -> None:
        """Answer a job with an error, and compute nothing more for it."""
        with self._lock:
            for ticket, other in self._waiting.items():
                if other is waiting:
                    self._scheduler.cancel(ticket)
        waiting.settle(None, error)


def _as_exception(error: BaseException) -> Exception:
    """What a step raised, as an error that ends one request and no event loop."""
    if isinstance(error, Exception):
        return error
    failure = RuntimeError(f"a step ended with {type(error).__qualname__}")
    failure.__cause__ = error
    return failure


@contextmanager
def _told(step: Step, jobs: Sequence[tuple[int, _Waiting[Any, Any]]]) -> Iterator[None]:
    """Let logs and traces tell that a step is computed, and for which requests."""
    attributes: Attributes = {}
    if isinstance(step, Chunk):
        attributes = {
            "cocite.batch.requests": len(step.parts),
            "cocite.batch.items": sum(count for _, count in step.parts),
            "cocite.batch.cost": step.cost,
        }
    for _, waiting in jobs:
        waiting.queued.end()
    requests = tuple(origin for _, waiting in jobs for origin in waiting.origins)
    with working_for(requests), span(type(step).__name__.lower(), attributes):
        yield

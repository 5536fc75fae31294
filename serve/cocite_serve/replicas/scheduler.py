"""What a replica computes next, for whom, and whom it refuses. Plain logic: no threads, no Ray, no clock of its own.

A request has *items* (the pairs that a cross-encoder reads, or one query), each with a *cost* (its tokens). It
goes through these states::

    waiting -> open -> read -> closed
    (admitted)  (its items are known)  (all its items are done)  (its result is made)

A worker asks for the next :data:`Step`, computes it, and reports how long it took. Steps are short, so that between
two of them requests can come and go.

**Fairness.** Requests are divided into size classes by their cost: up to one budget, up to 4, up to 16 … Classes that
have work share the time equally (start-time fair queueing, Goyal et al. 1996, by chunks); within a class the first
come is the first served. So a request waits for those of its own size before it, and for at most as much work of each
other class: a small one beside any number of large ones takes about twice its time, and so does a large one beside
small ones. Plain fair sharing between requests would give either one part in n.

**Admission.** From the backlog of each class, and the measured pace, follows when a request would be done. One that
would wait longer than it may, or that would miss its deadline because of others, is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cocite_serve.replicas.pace import Pace
from cocite_serve.replicas.steps import Chunk, Close, Late, Open, RefusedError, Step, Work

CLASS_RATIO = 4
"""Ratio of the costs of two size classes that follow one another."""


@dataclass(eq=False)
class _Request:
    """A request that was admitted."""

    ticket: int
    work: Work
    items: int
    """Those that are to be read."""
    size_class: int
    ends: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    """(n + 1,) cost of the first 0, 1, … n items; that of no item until it is open."""
    opened: bool = False
    taken: int = 0
    """Items that are read or in the chunk under way."""

    @property
    def cost_left(self) -> int:
        return int(self.ends[-1] - self.ends[self.taken])

    @property
    def all_taken(self) -> bool:
        return self.taken == len(self.ends) - 1


class Scheduler:
    """Admits requests, and says what to compute next. One step is under way at a time.

    Args:
        clock: the time in seconds.
        budget: most cost of a chunk; an item above it is a chunk by itself.
        max_wait_s: seconds that a request may be expected to wait for others; above it is refused.
        pace: seconds of a unit of cost.
        item_cost: mean cost of an item, until some were seen.
        overhead_s: seconds that opening and closing a request take, until some were seen.

    Example:
        >>> now = 0.0
        >>> scheduler = Scheduler(lambda: now, budget=100, max_wait_s=1.0, pace=Pace(100, 0.5), item_cost=50)
        >>> large = scheduler.submit(Work(items=4, deadline=9.0, costs=np.array([50, 50, 50, 50])))
        >>> small = scheduler.submit(Work(items=1, deadline=9.0, costs=np.array([20])))
        >>> steps = []
        >>> while (step := scheduler.next()) is not None:
        ...     steps.append(step)
        ...     scheduler.finished(0.5)
        >>> steps[0]  # the small one has a class of its own, and nobody waits long
        Chunk(parts=((1, 1), (0, 1)), cost=70)
        >>> steps[1], steps[-1]
        (Close(ticket=1, read=1, items=1), Close(ticket=0, read=4, items=4))
        >>> _ = scheduler.submit(Work(items=4, deadline=99.0, costs=np.array([90, 90, 90, 90])))
        >>> scheduler.admit(Work(items=4, deadline=99.0, costs=np.array([90, 90, 90, 90])))
        Traceback (most recent call last):
        ...
        cocite_serve.replicas.steps.RefusedError: it would wait 2.6 s for others
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        budget: int,
        max_wait_s: float,
        pace: Pace,
        item_cost: float,
        overhead_s: float = 0.0,
    ) -> None:
        self._clock, self.budget, self.max_wait_s = clock, budget, max_wait_s
        self._pace = pace
        # Cost in the place of seconds: a mean that a thousand items halve.
        self._item = Pace(1, item_cost, half_life_s=1000 * item_cost)
        self._opening, self._closing = Pace(1, overhead_s / 2), Pace(1, overhead_s / 2)
        self._requests: dict[int, _Request] = {}
        self._unopened: dict[int, _Request] = {}
        self._classes: dict[int, dict[int, _Request]] = {}
        self._unclosed: dict[int, _Request] = {}
        self._virtual: dict[int, float] = {}
        """Of each class: the cost that it has had, or would have had, when it last had work."""
        self._now_virtual = 0.0
        self._tickets = 0
        self._running: Step | None = None
        self._until = 0.0
        """When the step under way is expected to end."""

    def __len__(self) -> int:
        return len(self._requests)

    # -- admission -------------------------------------------------------------------------------------------

    def submit(self, work: Work) -> int:
        """Admit a request.

        Returns:
            Its ticket.

        Raises:
            RefusedError: because of others it would wait too long, or miss its deadline.
        """
        items = self.admit(work)
        request = _Request(self._tickets, work, items, self._size_class(self._expected_cost(work, items)))
        self._tickets += 1
        self._requests[request.ticket] = request
        if work.costs is None:
            self._unopened[request.ticket] = request
        else:
            self._enter(request, work.costs)
        return request.ticket

    def admit(self, work: Work, before: int = 0) -> int:
        """How many of its items a request would have computed in time, were it submitted now.

        Args:
            work: what it asks for.
            before: items of such requests that are sure to come before it.

        Raises:
            RefusedError: as of :meth:`submit`.
        """
        left = work.deadline - self._clock()
        backlog = self._backlog()
        overhead = self._opening.seconds(1) + self._closing.seconds(1)
        size_class = self._size_class(self._expected_cost(work, work.items))
        ahead = backlog.pop(size_class, 0.0) + self._pace.seconds(before * self._item.seconds(1))
        running = max(self._until - self._clock(), 0.0) if self._running is not None else 0.0

        def alone(items: int) -> float:
            return overhead + self._pace.seconds(self._expected_cost(work, items))

        def done(items: int) -> float:
            demand = ahead + alone(items)
            return running + demand + sum(min(other, demand) for other in backlog.values())

        all_done, wait = done(work.items), done(work.items) - alone(work.items)
        if wait > self.max_wait_s:
            raise RefusedError(wait, wait - self.max_wait_s, full=True)
        if all_done <= left:
            return work.items
        if not work.partial:
            if alone(work.items) <= left:
                raise RefusedError(wait, all_done - left)
            return work.items  # no other request is to blame
        most = _most(done, work.items, left)
        if most < min(work.least, _most(alone, work.items, left)):
            raise RefusedError(wait, max(done(work.least) - left, 0.0))
        return most

    def _expected_cost(self, work: Work, items: int) -> float:
        if work.costs is not None:
            return float(work.costs[:items].sum())
        return items * self._item.seconds(1)

    def _backlog(self) -> dict[int, float]:
        """Seconds of work that is left, by size class."""
        seconds: dict[int, float] = {}
        for request in self._requests.values():
            left = self._closing.seconds(1)
            if request.opened:
                left += self._pace.seconds(request.cost_left)
            else:
                left += self._opening.seconds(1) + self._pace.seconds(
                    self._expected_cost(request.work, request.items)
                )
            seconds[request.size_class] = seconds.get(request.size_class, 0.0) + left
        return seconds

    def _size_class(self, cost: float) -> int:
        return max(0, math.ceil(math.log(max(cost, 1) / self.budget, CLASS_RATIO)))

    def seconds_left(self) -> float:
        """Seconds of work in the queue, without what of the present step is done."""
        return sum(self._backlog().values())

    # -- leaving ---------------------------------------------------------------------------------------------

    def cancel(self, ticket: int) -> None:
        """Forget a request; what is under way for it is finished, and nothing more is begun. Unknown ones are none."""
        request = self._requests.pop(ticket, None)
        if request is not None:
            self._unopened.pop(ticket, None)
            self._unclosed.pop(ticket, None)
            self._classes.get(request.size_class, {}).pop(ticket, None)

    # -- steps -----------------------------------------------------------------------------------------------

    def next(self) -> Step | None:
        """What to compute now: results first, then new requests, then items; None while there is nothing to do."""
        assert self._running is None, "one step is under way at a time"
        now = self._clock()
        step = self._next(now)
        if isinstance(step, Late):
            self.cancel(step.ticket)
        elif step is not None:
            self._running = step
            self._until = now + self._expected_s(step)
        return step

    def _next(self, now: float) -> Step | None:
        self._close_due(now)
        for request in self._unclosed.values():
            return Close(request.ticket, request.taken, request.work.items)
        for request in self._requests.values():
            if request.work.deadline <= now and not request.work.partial:
                return Late(request.ticket)
        for ticket in self._unopened:
            return Open(ticket)
        parts = self._fill(now)
        if not parts:
            # None of the open requests has time for another item.
            return self._next(now) if self._unclosed else None
        return Chunk(
            tuple((request.ticket, stop - start) for request, start, stop in parts),
            sum(int(request.ends[stop] - request.ends[start]) for request, start, stop in parts),
        )

    def _expected_s(self, step: Step) -> float:
        if isinstance(step, Chunk):
            return self._pace.seconds(step.cost)
        return (self._opening if isinstance(step, Open) else self._closing).seconds(1)

    def _close_due(self, now: float) -> None:
        """Close the requests that have no time left to read more."""
        due = now + self._closing.seconds(1)
        for queue in self._classes.values():
            for request in list(queue.values()):
                if request.work.partial and request.work.deadline <= due:
                    self._leave_class(request)

    def _leave_class(self, request: _Request) -> None:
        del self._classes[request.size_class][request.ticket]
        self._unclosed[request.ticket] = request

    def finished(self, seconds: float | None, costs: NDArray[np.int64] | None = None) -> None:
        """Report that the step under way is done.

        Args:
            seconds: that it took; None: it failed, and so does not say how long such steps take.
            costs: of the items, after :class:`Open`.
        """
        step, self._running = self._running, None
        if step is not None and seconds is not None:
            self._measure(step, seconds)
        if isinstance(step, Open):
            self._unopened.pop(step.ticket, None)
            if (request := self._requests.get(step.ticket)) is not None:
                assert costs is not None, "opening a request is to find out its costs"
                if len(costs):
                    self._item.add(len(costs), float(costs.sum()))
                self._enter(request, costs)
        elif isinstance(step, Chunk):
            for ticket, _ in step.parts:
                request = self._requests.get(ticket)
                if request is not None and request.all_taken:
                    self._leave_class(request)
        elif isinstance(step, Close):
            self.cancel(step.ticket)

    def _measure(self, step: Step, seconds: float) -> None:
        if isinstance(step, Chunk):
            self._pace.add(step.cost, seconds)
        elif isinstance(step, Open):
            self._opening.add(1, seconds)
        elif isinstance(step, Close):
            self._closing.add(1, seconds)

    def _enter(self, request: _Request, costs: NDArray[np.int64]) -> None:
        """Let a request's items be computed."""
        request.opened = True
        request.ends = np.concatenate([[0], np.cumsum(costs[: request.items])])
        if request.all_taken:
            self._unclosed[request.ticket] = request
            return
        request.size_class = self._size_class(float(request.ends[-1]))
        queue = self._classes.setdefault(request.size_class, {})
        if not queue:
            # A class saves up nothing while it has no work.
            before = self._virtual.get(request.size_class, 0.0)
            self._virtual[request.size_class] = max(before, self._now_virtual)
        queue[request.ticket] = request

    def _fill(self, now: float) -> list[tuple[_Request, int, int]]:
        """Take items for a chunk, of the class that has had least first: request, first item, and the one behind."""
        parts: list[tuple[_Request, int, int]] = []
        used, end = 0, math.inf
        group: Hashable = None
        waiting: dict[int, Iterator[_Request]] = {
            number: iter(list(queue.values())) for number, queue in self._classes.items() if queue
        }
        self._now_virtual = min((self._virtual[number] for number in waiting), default=self._now_virtual)
        while waiting:
            number = min(waiting, key=lambda number: (self._virtual[number], number))
            request = next(waiting[number], None)
            if request is None:
                del waiting[number]
                continue
            if parts and request.work.group != group:
                continue
            end = min(end, self._end(request))
            count = self._fitting(request, self.budget - used, self._pace.amount(end - now) - used, not parts)
            if not count:
                if parts:
                    break
                end = math.inf  # it has no time left, so the chunk is not its
                self._leave_class(request)
                continue
            group = request.work.group
            start, request.taken = request.taken, request.taken + count
            cost = int(request.ends[request.taken] - request.ends[start])
            used += cost
            self._virtual[number] += cost
            parts.append((request, start, request.taken))
            if not request.all_taken:
                break  # the chunk is full
        return parts

    def _end(self, request: _Request) -> float:
        """When a chunk with items of a request has to be done for a result in time."""
        return request.work.deadline - self._closing.seconds(1) if request.work.partial else math.inf

    def _fitting(self, request: _Request, room: float, time: float, first: bool) -> int:
        """Items of a request that fit into what is left of a chunk and of the time, both as costs."""
        before = request.ends[request.taken]
        count = int(np.searchsorted(request.ends, before + min(room, time), "right")) - 1 - request.taken
        if count <= 0 and first and request.ends[request.taken + 1] - before <= time:
            return 1  # a single item above the budget
        return max(count, 0)


def _most(done: Callable[[int], float], items: int, left: float) -> int:
    """The most items, from 0, that are done in time; ``done`` grows with them."""
    low, high = 0, items
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if done(middle) <= left else (low, middle - 1)
    return low

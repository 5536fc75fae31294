"""The scheduler of a stage under a simulated clock, on a machine whose steps take as long as their costs say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cocite_serve.replicas.pace import Pace
from cocite_serve.replicas.scheduler import Scheduler
from cocite_serve.replicas.steps import Chunk, Close, Late, Open, RefusedError, Work

BUDGET = 100
RATE = 1000.0
"""Units of cost a second: a full chunk takes 0.1 s."""
OVERHEAD = 0.002


@dataclass
class Arrival:
    at: float
    costs: list[int]
    seconds: float = 1e9
    partial: bool = False
    least: int = 0
    known: bool = True
    group: int = 0
    leaves: float = 1e9


@dataclass
class Simulation:
    """One worker over a list of arrivals."""

    arrivals: list[Arrival]
    max_wait_s: float = 1e9
    now: float = 0.0
    idle: float = 0.0
    chunks: list[tuple[float, Chunk]] = field(default_factory=list)
    scored: dict[int, list[int]] = field(default_factory=dict)
    closed: dict[int, tuple[float, Close]] = field(default_factory=dict)
    late: dict[int, float] = field(default_factory=dict)
    refused: dict[int, RefusedError] = field(default_factory=dict)
    number: dict[int, int] = field(default_factory=dict)
    """Ticket -> number of the arrival."""
    admitted: dict[int, int] = field(default_factory=dict)

    def run(self, observe: Callable[[Simulation], None] = lambda _: None) -> Simulation:
        self.scheduler = Scheduler(
            lambda: self.now,
            budget=BUDGET,
            max_wait_s=self.max_wait_s,
            pace=Pace(RATE, 1.0),
            item_cost=30,
            overhead_s=OVERHEAD,
        )
        self.events = events = sorted(
            [(a.at, 0, i) for i, a in enumerate(self.arrivals)]
            + [(a.leaves, 1, i) for i, a in enumerate(self.arrivals) if a.leaves < 1e9]
        )
        while True:
            self._happen(self.now)
            observe(self)
            step = self.scheduler.next()
            if step is None:
                if not events:
                    assert len(self.scheduler) == 0, "requests are left, and there is nothing to do"
                    return self
                self.idle += events[0][0] - self.now
                self.now = events[0][0]
                continue
            self._compute(step)

    def _happen(self, until: float) -> None:
        """Let requests come and go, also while a step is under way."""
        while self.events and self.events[0][0] <= until:
            at, kind, i = self.events.pop(0)
            self.now = max(self.now, at)
            self._event(kind, i)
        self.now = until

    def _event(self, kind: int, i: int) -> None:
        arrival = self.arrivals[i]
        if kind:
            for ticket, number in self.number.items():
                if number == i:
                    self.scheduler.cancel(ticket)
            return
        work = Work(
            len(arrival.costs),
            arrival.at + arrival.seconds,
            arrival.least,
            arrival.partial,
            arrival.group,
            np.array(arrival.costs, np.int64) if arrival.known else None,
        )
        try:
            self.admitted[i] = self.scheduler.admit(work)
            self.number[self.scheduler.submit(work)] = i
        except RefusedError as error:
            self.refused[i] = error

    def _compute(self, step: Open | Chunk | Close | Late) -> None:
        if isinstance(step, Late):
            self.late[self.number[step.ticket]] = self.now
            return
        seconds, costs = OVERHEAD / 2, None
        if isinstance(step, Open):
            costs = np.array(self.arrivals[self.number[step.ticket]].costs, np.int64)
        elif isinstance(step, Close):
            self.closed[self.number[step.ticket]] = (self.now + seconds, step)
        else:
            self.chunks.append((self.now, step))
            total = 0
            for ticket, count in step.parts:
                i = self.number[ticket]
                done = self.scored.setdefault(i, [])
                new = range(len(done), len(done) + count)
                done.extend(new)
                total += sum(self.arrivals[i].costs[item] for item in new)
            assert total == step.cost
            seconds = total / RATE
        self._happen(self.now + seconds)
        self.scheduler.finished(seconds, costs)

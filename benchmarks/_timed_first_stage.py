"""The first stage by pools, with the time that each of its steps takes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.pooled_signals import PooledSignals, PoolLimits
from cocite.pipeline.signals import Signals
from cocite.protocols import Query, Ranking
from cocite.retrieval.shards.messages import NearestRequest, ScoreRequest
from cocite.retrieval.shards.paper_filter import EVERYTHING, PaperFilter
from cocite.retrieval.signals.sparse_scores import SparseScores

STEPS = ("words", "first round", "votes", "second round", "blend")
"""Forms and words of the query, with its authors; the nearest papers and contexts; votes; candidates; their scores."""


class StepClock:
    """Seconds by step; what an inner step takes is not counted for the outer one.

    Attributes:
        wall, cpu: seconds by step since :meth:`reset`.
    """

    def __init__(self) -> None:
        self.wall, self.cpu = Counter[str](), Counter[str]()
        self._inner: list[list[float]] = []

    def reset(self) -> None:
        """Forget all times."""
        self.wall.clear()
        self.cpu.clear()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the time of a block for a step."""
        start, begun = time.perf_counter(), time.thread_time()
        self._inner.append([0.0, 0.0])
        try:
            yield
        finally:
            took = time.perf_counter() - start, time.thread_time() - begun
            inner = self._inner.pop()
            self.wall[name] += took[0] - inner[0]
            self.cpu[name] += took[1] - inner[1]
            if self._inner:
                self._inner[-1][0] += took[0]
                self._inner[-1][1] += took[1]


class TimedSignals(PooledSignals):
    """Signals that count their time in a clock."""

    def __init__(
        self, signals: Signals, queries: Sequence[Query], limits: PoolLimits, clock: StepClock
    ) -> None:
        self.clock = clock
        with clock.step("words"):
            super().__init__(signals, queries, limits)

    def _find_nearest(self) -> None:
        with self.clock.step("first round"):
            super()._find_nearest()

    def _nearest_request(self, depth: int) -> NearestRequest:
        with self.clock.step("words"):
            return super()._nearest_request(depth)

    def _count_votes(self, *voters: Any) -> None:
        with self.clock.step("votes"):
            super()._count_votes(*voters)

    def _score_request(self, *arguments: Any) -> ScoreRequest:
        with self.clock.step("votes"):
            return super()._score_request(*arguments)

    def _fill_pools(self, request: ScoreRequest) -> None:
        with self.clock.step("second round"):
            super()._fill_pools(request)

    def ranking(
        self,
        weights: Mapping[str, float],
        width: int,
        papers: PaperFilter = EVERYTHING,
        seeds: SparseScores | None = None,
    ) -> Ranking:
        with self.clock.step("blend"):
            return super().ranking(weights, width, papers, seeds)

    def at(self, candidates: Ranking) -> dict[str, Any]:
        with self.clock.step("blend"):
            return super().at(candidates)


class TimedFirstStage(FirstStage):
    """A first stage that always works by pools, and counts its time in ``clock``."""

    clock = StepClock()

    def _signals(self, queries: Sequence[Query], width: int) -> TimedSignals:
        return TimedSignals(self.signals, queries, self.limits, self.clock)

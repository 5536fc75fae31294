"""What the driver of a sweep decides whoever runs the trials: which is next, and what is kept of each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cocite_tuning.run.mlflow_logger import Recorder
from cocite_tuning.run.trial_store import Ledger, Phase
from cocite_tuning.run.trials import State, Trial, Trials
from cocite_tuning.sweep.sampler import Sampler


@dataclass(frozen=True)
class Order:
    """A trial to be run.

    Attributes:
        number: of the trial.
        params: what was drawn for it, and what its phase sets.
    """

    number: int
    params: dict[str, Any]


@dataclass(frozen=True)
class Listener:
    """Whom a sweep tells of its progress.

    Attributes:
        stage: what begins now, and of how many trials it is (0: none).
        ended: a trial has, and all of the sweep so far.
        again: a trial is taken up after its process died.
    """

    stage: Callable[[str, int], None] = lambda *_: None
    ended: Callable[[Trial, Trials], None] = lambda *_: None
    again: Callable[[int], None] = lambda *_: None


class Conductor:
    """One phase of a sweep.

    Args:
        ledger: keeps its trials.
        recorder: keeps them in MLflow.
        draw: parameters for the next new trial, by its number in the sweep and its place in the phase.
        total: trials of the phase, those that ended before included.
        phase: which.
        fixed: what all its trials are run with besides their own parameters.
        until: no trial begins after this time, by the monotonic clock.
        sampler: told of what comes of the trials.
        listener: told of progress.
    """

    def __init__(
        self,
        ledger: Ledger,
        recorder: Recorder,
        draw: Callable[[int, int], dict[str, Any]],
        *,
        total: int,
        phase: Phase = "",
        fixed: Mapping[str, Any] | None = None,
        until: float = math.inf,
        sampler: Sampler | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.ledger, self.recorder, self.draw, self.total, self.phase = ledger, recorder, draw, total, phase
        self.fixed, self.until, self.sampler = dict(fixed or {}), until, sampler
        self.listener = listener or Listener()
        self._waiting = sorted(n for n, begun in ledger.under_way.items() if begun.phase == phase)
        self._entered = len(ledger.of(phase)) + len(self._waiting)

    @property
    def left(self) -> int:
        """Trials that are still to be begun, or taken up again."""
        return max(0, self.total - self._entered) + len(self._waiting)

    def next(self) -> Order | None:
        """The next trial, first those that a dead driver left; None: no further one is to begin."""
        if self._waiting:
            begun = self.ledger.under_way[self._waiting.pop(0)]
        elif self._entered < self.total and time.monotonic() < self.until:
            number = self.ledger.next_number
            begun = self.ledger.enter(number, self.draw(number, self._entered), self.phase)
            self._entered += 1
        else:
            return None
        return Order(begun.number, {**self.fixed, **begun.params})

    def begin(self, number: int) -> None:
        """A trial runs."""
        self.ledger.begin(number, self.recorder.begin(self.ledger.under_way[number]))

    def tell(self, number: int, metrics: dict[str, float], step: int) -> None:
        """Metrics at a step of a trial."""
        self.ledger.tell(number, metrics, step)
        self.recorder.tell(number, metrics, step)

    def end(self, number: int, state: State, metrics: Mapping[str, float], error: str = "") -> None:
        """A trial has ended."""
        trial = self.ledger.end(number, state, metrics, error)
        trials = self.ledger.trials
        if self.sampler is not None:
            value = trials.value(trial) if state != "failed" else math.nan
            self.sampler.tell(number, trial.params, value)
        # Whoever dies before the last of these does the trial, or what is left of it, again: in the same run.
        self.recorder.end(trial, trials)
        self.ledger.save()
        self.ledger.prune()
        self.listener.ended(trial, trials)


def in_turn(given: Sequence[Mapping[str, Any]]) -> Callable[[int, int], dict[str, Any]]:
    """Draws some given parameters, one after another."""
    return lambda _, place: dict(given[place])


def from_sampler(
    sampler: Sampler, start: Sequence[Mapping[str, Any]]
) -> Callable[[int, int], dict[str, Any]]:
    """Draws some given parameters first, then asks the sampler."""
    return lambda number, place: dict(start[place]) if place < len(start) else sampler.draw(number)

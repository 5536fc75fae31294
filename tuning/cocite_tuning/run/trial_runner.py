"""The part of a sweep that is the same wherever its trials run: it chooses the next one, and records each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cocite_tuning.run.callback import SweepCallback
from cocite_tuning.run.mlflow_logger import MlflowLogger
from cocite_tuning.run.trial_store import TrialStore
from cocite_tuning.sweep.sampler import Sampler
from cocite_tuning.sweep.trials import Phase, State

Draw = Callable[[int, int], dict[str, Any]]
"""``draw(number, index)``: the parameters of a new trial, by its number in the sweep and its index in the phase."""


@dataclass(frozen=True)
class TrialSpec:
    """A trial that is to be run.

    Attributes:
        number: of the trial.
        params: those that were drawn for it, and those that its phase fixes.

    Example:
        >>> TrialSpec(4, {"training.epochs": 1, "training.optimizer.learning_rate": 0.01}).params["training.epochs"]
        1
    """

    number: int
    params: dict[str, Any]


class TrialRunner:
    """One phase of a sweep: hands out its trials and records what comes of each.

    The trials themselves run elsewhere, in this process (:mod:`~cocite_tuning.run.in_process`) or on Ray
    (:mod:`~cocite_tuning.run.on_ray`), which call :meth:`next_trial`, :meth:`start`, :meth:`report` and :meth:`finish`.

    Args:
        store: of the sweep's trials.
        mlflow_logger: of the sweep's trials.
        draw: the parameters of the next new trial.
        total: trials of the phase, those that ended before included.
        phase: which.
        fixed: the parameters that all trials of the phase have besides their own.
        until: no trial starts after this time, by the monotonic clock.
        sampler: learns the value of each trial that ends.
        callback: called as trials progress.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite_mlflow.runs import MlflowRun
        >>> from cocite_tuning.sweep.sweep import load_sweep
        >>> with (
        ...     tempfile.TemporaryDirectory() as folder,
        ...     TrialStore.opened(Path(folder, "sweep"), load_sweep("bm25"), "v1", start="new") as store,
        ... ):
        ...     draw = take_in_turn([{"k1": 1.0}, {"k1": 2.0}])
        ...     runner = TrialRunner(store, MlflowLogger(MlflowRun()), draw, total=2)
        ...     while (spec := runner.next_trial()) is not None:
        ...         runner.start(spec.number)
        ...         runner.finish(spec.number, "finished", {"MRR": spec.params["k1"] / 10})
        ...     [trial.params for trial in store.trials.ranked]
        [{'k1': 2.0}, {'k1': 1.0}]
    """

    def __init__(
        self,
        store: TrialStore,
        mlflow_logger: MlflowLogger,
        draw: Draw,
        *,
        total: int,
        phase: Phase = "",
        fixed: Mapping[str, Any] | None = None,
        until: float = math.inf,
        sampler: Sampler | None = None,
        callback: SweepCallback | None = None,
    ) -> None:
        self.store, self.mlflow_logger, self.draw, self.total, self.phase = (
            store,
            mlflow_logger,
            draw,
            total,
            phase,
        )
        self.fixed, self.until, self.sampler = dict(fixed or {}), until, sampler
        self.callback = callback or SweepCallback()
        self._to_resume = sorted(n for n, trial in store.running.items() if trial.phase == phase)
        self._drawn = len(store.ended_in(phase)) + len(self._to_resume)

    @property
    def remaining(self) -> int:
        """The number of trials that are still to be started or resumed."""
        return max(0, self.total - self._drawn) + len(self._to_resume)

    def next_trial(self) -> TrialSpec | None:
        """The next trial, first those that an interrupted sweep left running; None where the phase starts no more."""
        if self._to_resume:
            trial = self.store.running[self._to_resume.pop(0)]
        elif self._drawn < self.total and time.monotonic() < self.until:
            number = self.store.next_number
            trial = self.store.add(number, self.draw(number, self._drawn), self.phase)
            self._drawn += 1
        else:
            return None
        return TrialSpec(trial.number, {**self.fixed, **trial.params})

    def start(self, number: int) -> None:
        """Record that a trial runs."""
        self.store.start(number, self.mlflow_logger.start(self.store.running[number]))

    def report(self, number: int, metrics: dict[str, float], step: int) -> None:
        """Record metrics at a step of a trial."""
        self.store.add_metrics(number, metrics, step)
        self.mlflow_logger.log_metrics(number, metrics, step)

    def finish(self, number: int, state: State, metrics: Mapping[str, float], error: str = "") -> None:
        """Record that a trial has ended."""
        trial = self.store.finish(number, state, metrics, error)
        trials = self.store.trials
        if self.sampler is not None:
            value = trials.value(trial) if state != "failed" else math.nan
            self.sampler.observe(number, trial.params, value)
        # MLflow before the file: a process that dies in between runs the trial, or what is left of it, again, and
        # continues its MLflow run. The other way round that run would stay open.
        self.mlflow_logger.finish(trial, trials)
        self.store.flush()
        self.store.prune()
        self.callback.on_trial_end(trial, trials)


def take_in_turn(choices: Sequence[Mapping[str, Any]]) -> Draw:
    """A :data:`Draw` that takes given parameters one after another."""
    return lambda _, index: dict(choices[index])


def draw_after(start: Sequence[Mapping[str, Any]], sampler: Sampler) -> Draw:
    """A :data:`Draw` that takes the parameters of ``start`` first, and then draws from the sampler."""
    return lambda number, index: dict(start[index]) if index < len(start) else sampler.draw(number)

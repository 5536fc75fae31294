"""The trials of a report: those that can be compared with each other, and their parameters as columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite_tuning.report.formatting import format_value
from cocite_tuning.sweep.trials import LATENCY, Trial, Trials

SPREAD, LOW_QUARTER = 30.0, 0.1
"""Positive values have a logarithmic axis if the greatest is ``SPREAD`` times the least, and a quarter of the distinct
ones lie below ``LOW_QUARTER`` of the greatest; of values drawn uniformly only a tenth does."""
FEW_LEVELS = 8
"""A number with at most this many distinct values may have one tick for each."""


@dataclass(frozen=True)
class Column:
    """One parameter over the compared trials.

    Attributes:
        name: of the parameter.
        label: its name in a figure: the shortest end of the dotted name that no other parameter shares.
        values: of the trials; None where a condition did not hold.
        levels: the values of a parameter that is no number, in alphabetical order; those of a number whose few values
            are 0 and several orders of magnitude, which neither a linear nor a logarithmic axis shows, ascending;
            empty for other numbers.

    Example:
        >>> trials = [Trial(number=i, params={"loop.l2": value}) for i, value in enumerate((0, 1e-7, 1e-4, 1e-2))]
        >>> column = Column.of("loop.l2", trials)
        >>> column.label, column.levels, column.numbers.tolist()
        ('l2', ('0', '1e-07', '0.0001', '0.01'), [0.0, 1.0, 2.0, 3.0])
    """

    name: str
    label: str
    values: tuple[Any, ...]
    levels: tuple[str, ...]

    @classmethod
    def of(cls, name: str, trials: Sequence[Trial], others: Collection[str] = ()) -> Column:
        """The column of a parameter; ``others`` are the names that its label must differ from."""
        label = _label(name, others)
        values = tuple(trial.params.get(name) for trial in trials)
        if all(_is_number(value) for value in values if value is not None):
            known = {value for value in values if value is not None}
            few = 0 in known and len(known) <= FEW_LEVELS
            steep = few and cls(name, label, tuple(known - {0}), ()).logarithmic
            return cls(
                name, label, values, tuple(format_value(value) for value in sorted(known)) if steep else ()
            )
        return cls(
            name, label, values, tuple(sorted({format_value(value) for value in values if value is not None}))
        )

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """(n,) the values, or the indices of their levels; NaN where a trial has no value."""
        if not self.levels:
            return np.array([math.nan if value is None else value for value in self.values], np.float64)
        index = {level: i for i, level in enumerate(self.levels)}
        return np.array([math.nan if v is None else index[format_value(v)] for v in self.values], np.float64)

    @property
    def known(self) -> NDArray[np.float64]:
        """The numbers of the trials that have one."""
        return self.numbers[~np.isnan(self.numbers)]

    @property
    def varies(self) -> bool:
        """Whether two trials differ in this parameter, or one has it and another does not."""
        return len(np.unique(self.known)) + (len(self.known) < len(self.values)) > 1

    @property
    def logarithmic(self) -> bool:
        """Whether its values are spread over orders of magnitude."""
        known = np.unique(self.known)
        if self.levels or len(known) < 2 or known[0] <= 0 or known[-1] < SPREAD * known[0]:
            return False
        return bool(np.quantile(known, 0.25) <= LOW_QUARTER * known[-1])


class View:
    """The trials of a sweep, with a selection of those whose metrics can be compared.

    A stopped trial's metric is of an earlier step, and a short training's of another phase; so the selection holds the
    finished trials of the phase that has most of them.

    Attributes:
        all: the sweep's trials.
        phase: of the selected trials.
        baseline: the finished trial without parameters, if there is one.
        compared: the finished trials with parameters, in order of their number.
        columns: their parameters that vary.

    Example:
        >>> done = [Trial(number=i, params={"k1": float(i)}, metrics={"MRR": i / 10}) for i in range(3)]
        >>> stopped = Trial(number=3, params={"k1": 9.0}, metrics={"MRR": 0.9}, state="stopped")
        >>> view = View(Trials(sweep="s", metric="MRR", trials=(*done, stopped)))
        >>> [trial.number for trial in view.compared], view.values.tolist(), view.order.tolist()
        ([0, 1, 2], [0.0, 0.1, 0.2], [0, 1, 2])
    """

    def __init__(self, trials: Trials) -> None:
        self.all = trials
        finished = [t for t in trials.trials if t.state == "finished" and math.isfinite(trials.value(t))]
        phases = [trial.phase for trial in finished]
        main = max(dict.fromkeys(phases), key=phases.count, default="")
        same = [trial for trial in finished if trial.phase == main]
        self.phase = main
        self.baseline = next((trial for trial in same if not trial.params), None)
        self.compared = [trial for trial in same if trial.params]
        names = dict.fromkeys(name for trial in self.compared for name in trial.params)
        columns = [Column.of(name, self.compared, names) for name in names]
        self.columns = [column for column in columns if column.varies]

    @property
    def metric(self) -> str:
        """The name of the metric that the sweep optimises."""
        return self.all.metric

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """(n,) the metric of the compared trials."""
        return np.array([self.all.value(trial) for trial in self.compared], np.float64)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """(n,) the compared trials, worst first, so that figures draw the best ones last, on top."""
        return np.argsort(self.values if self.all.mode == "max" else -self.values, kind="stable")

    def metrics(self, name: str) -> NDArray[np.float64]:
        """(n,) another metric of the compared trials; NaN where one lacks it."""
        return np.array([trial.metrics.get(name, math.nan) for trial in self.compared], np.float64)

    @property
    def has_latency(self) -> bool:
        """Whether all compared trials have a latency."""
        return bool(self.compared) and all(LATENCY in trial.metrics for trial in self.compared)

    def frontier(self) -> list[Trial]:
        """The trials that no other trial beats in both quality and latency, fastest first."""
        sign = -1.0 if self.all.mode == "max" else 1.0
        pool = [*self.compared, *([self.baseline] if self.baseline else [])]
        pool = [trial for trial in pool if math.isfinite(trial.metrics.get(LATENCY, math.nan))]
        pool.sort(key=lambda t: (t.metrics[LATENCY], sign * self.all.value(t), t.number))
        result: list[Trial] = []
        for trial in pool:
            if not result or sign * self.all.value(trial) < sign * self.all.value(result[-1]):
                result.append(trial)
        return result

    def best_by(self, column: Column) -> list[tuple[Any, Trial]]:
        """The best trial of each value of a parameter, by ascending value."""
        best: dict[float, Trial] = {}
        for i in self.order.tolist():
            if not math.isnan(column.numbers[i]):
                best[float(column.numbers[i])] = self.compared[i]
        return [(best[number].params[column.name], best[number]) for number in sorted(best)]


def _label(name: str, others: Collection[str]) -> str:
    """The shortest end of a dotted name that no other name ends with, at a dot."""
    parts = name.split(".")
    for count in range(1, len(parts)):
        end = ".".join(parts[-count:])
        if not any(other != name and f".{other}".endswith(f".{end}") for other in others):
            return end
    return name


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

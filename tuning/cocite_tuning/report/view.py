"""The trials as the report looks at them: which compare with each other, and their parameters as columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite_tuning.run.trials import LATENCY, Trial, Trials

SPREAD, LOW_QUARTER = 30.0, 0.1
"""Positive values are shown on a logarithmic axis where the greatest is so many times the least, and a quarter of the
distinct ones lie below so much of the greatest: of values drawn evenly, a tenth does."""
FEW_LEVELS = 8
"""So many distinct values of a number may stand side by side, each in its place."""
DEFAULT = "default"
"""How a trial without parameters is called: the thing as it is."""


@dataclass(frozen=True)
class Column:
    """One parameter over the compared trials.

    Attributes:
        name: of the parameter.
        label: its name in a figure: so much of the end of the dotted name as tells it from the others.
        values: as the trials have them; None where a condition did not hold.
        levels: the values of a parameter that is no number, in order of their first letters; those of one whose few
            values are 0 and numbers of several orders of magnitude, which no axis has room for, in their own order;
            empty for other numbers.
    """

    name: str
    label: str
    values: tuple[Any, ...]
    levels: tuple[str, ...]

    @classmethod
    def of(cls, name: str, trials: Sequence[Trial], others: Collection[str] = ()) -> Column:
        """A parameter of some trials; ``others`` are the names that its label must differ from."""
        label = _label(name, others)
        values = tuple(trial.params.get(name) for trial in trials)
        if all(_is_number(value) for value in values if value is not None):
            known = {value for value in values if value is not None}
            few = 0 in known and len(known) <= FEW_LEVELS
            steep = few and cls(name, label, tuple(known - {0}), ()).logarithmic
            return cls(name, label, values, tuple(shown(value) for value in sorted(known)) if steep else ())
        return cls(
            name, label, values, tuple(sorted({shown(value) for value in values if value is not None}))
        )

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """(n,) the values, or the places of their levels; NaN where there is none."""
        if not self.levels:
            return np.array([math.nan if value is None else value for value in self.values], np.float64)
        place = {level: i for i, level in enumerate(self.levels)}
        return np.array([math.nan if v is None else place[shown(v)] for v in self.values], np.float64)

    @property
    def known(self) -> NDArray[np.float64]:
        """The numbers that are there."""
        return self.numbers[~np.isnan(self.numbers)]

    @property
    def varies(self) -> bool:
        """Whether two trials differ in it, or one has it and another does not."""
        return len(np.unique(self.known)) + (len(self.known) < len(self.values)) > 1

    @property
    def logarithmic(self) -> bool:
        """Whether its values are spread over orders of magnitude."""
        known = np.unique(self.known)
        if self.levels or len(known) < 2 or known[0] <= 0 or known[-1] < SPREAD * known[0]:
            return False
        return bool(np.quantile(known, 0.25) <= LOW_QUARTER * known[-1])


class View:
    """The trials of a sweep, those that compare with each other apart.

    A stopped trial's metric is of another step, and a short training's of another phase; so what is compared are the
    finished trials of the phase that has most of them.

    Attributes:
        all: the sweep's trials.
        baseline: the finished trial without parameters, if there is one.
        compared: the finished trials with parameters, in order of their number.
        columns: their parameters that vary.
    """

    def __init__(self, trials: Trials) -> None:
        self.all = trials
        done = [t for t in trials.trials if t.state == "finished" and math.isfinite(trials.value(t))]
        phases = [trial.phase for trial in done]
        main = max(dict.fromkeys(phases), key=phases.count, default="")
        same = [trial for trial in done if trial.phase == main]
        self.phase = main
        self.baseline = next((trial for trial in same if not trial.params), None)
        self.compared = [trial for trial in same if trial.params]
        names = dict.fromkeys(name for trial in self.compared for name in trial.params)
        columns = [Column.of(name, self.compared, names) for name in names]
        self.columns = [column for column in columns if column.varies]

    @property
    def metric(self) -> str:
        """What was optimised."""
        return self.all.metric

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """(n,) the metric of the compared trials."""
        return np.array([self.all.value(trial) for trial in self.compared], np.float64)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """(n,) the compared trials, worst first: the best are drawn last and lie on top."""
        return np.argsort(self.values if self.all.mode == "max" else -self.values, kind="stable")

    def metrics(self, name: str) -> NDArray[np.float64]:
        """(n,) another metric of the compared trials; NaN where one lacks it."""
        return np.array([trial.metrics.get(name, math.nan) for trial in self.compared], np.float64)

    @property
    def costed(self) -> bool:
        """Whether the trials say how long a query takes."""
        return bool(self.compared) and all(LATENCY in trial.metrics for trial in self.compared)

    def frontier(self) -> list[Trial]:
        """The trials that no other beats in both quality and latency, the fastest first."""
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
        """For each value of a parameter the best trial that has it, values ascending."""
        best: dict[float, Trial] = {}
        for i in self.order.tolist():
            if not math.isnan(column.numbers[i]):
                best[float(column.numbers[i])] = self.compared[i]
        return [(best[number].params[column.name], best[number]) for number in sorted(best)]


def shown(value: Any) -> str:
    """A parameter or a metric in a cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def measured(value: float | None) -> str:
    """A metric in a cell: of shares four places, so that a column's stand under one another."""
    if value is None or not 0.001 <= abs(value) < 1:
        return shown(value)
    return f"{value:.4f}"


def described(trial: Trial) -> str:
    """The parameters of a trial in a line."""
    return ", ".join(f"{name} {shown(value)}" for name, value in trial.params.items()) or DEFAULT


def _label(name: str, others: Collection[str]) -> str:
    """The shortest end of a dotted name that no other name ends with."""
    parts = name.split(".")
    for count in range(1, len(parts)):
        end = ".".join(parts[-count:])
        if not any(other != name and f".{other}".endswith(f".{end}") for other in others):
            return end
    return name


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

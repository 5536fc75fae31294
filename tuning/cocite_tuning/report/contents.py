"""The contents of a sweep's report: its facts, tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from cocite_tuning.report.curve_plot import curves
from cocite_tuning.report.formatting import DEFAULT, format_metric, format_params, format_value
from cocite_tuning.report.importance import Importance, measure_importance
from cocite_tuning.report.latency_plots import best_by_count, count_columns, latency_frontier
from cocite_tuning.report.parallel_plot import parallel
from cocite_tuning.report.parameter_plots import importances, slices
from cocite_tuning.report.view import View
from cocite_tuning.sweep.result import SweepResult, confirmation_sentence
from cocite_tuning.sweep.trials import LATENCY, Trial, Trials

LISTED = 50
"""At most this many trials are in the table; the file of trials has all."""


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        columns: the headings.
        rows: a cell for each column.

    Example:
        >>> table = Table(["depth", "R@10"], [["20", "0.4100"], ["100", "0.4400"]])
        >>> dict(zip(table.columns, table.rows[0]))
        {'depth': '20', 'R@10': '0.4100'}
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class SweepReport:
    """The contents of the report of a sweep.

    Args:
        trials: of the sweep.
        result: of the sweep, if it has ended; ignored where it belongs to another trial than the best one here.
        max_latency_ms: a budget; the best trial is then the best within it.

    Attributes:
        budget: ``max_latency_ms``.
        view: the trials that are compared.

    Example:
        >>> fast = Trial(number=0, params={"depth": 20}, metrics={"R@10": 0.41, "latency_ms": 8.0})
        >>> deep = Trial(number=1, params={"depth": 500}, metrics={"R@10": 0.44, "latency_ms": 95.0})
        >>> report = SweepReport(Trials(sweep="depths", metric="R@10", trials=(fast, deep)), max_latency_ms=50)
        >>> report.best.params
        {'depth': 20}
        >>> report.chosen.rows
        [['depth', '20'], ['R@10', '0.4100'], ['latency_ms', '8']]
    """

    def __init__(
        self, trials: Trials, *, result: SweepResult | None = None, max_latency_ms: float | None = None
    ) -> None:
        self.trials, self.budget, self._result = trials, max_latency_ms, result
        self.view = View(trials)

    @cached_property
    def best(self) -> Trial | None:
        """The best trial, within the budget if there is one; None where no trial finished.

        Raises:
            NotFoundError: trials finished, but none is within the budget.
        """
        if not self.trials.ranked:
            return None
        return self.trials.best(at_most={LATENCY: self.budget} if self.budget is not None else None)

    @property
    def result(self) -> SweepResult | None:
        """The result of the best trial; None where the sweep ended with another one as its best, or not yet."""
        return self._result if self._result is not None and self._result.belongs_to(self.best) else None

    @property
    def confirmation(self) -> str:
        """The comparison of the best trial with the default on held-out queries, or why there is none; may be empty."""
        result = self.result
        if result is None:
            return self.unconfirmed
        if result.confirmation is None:
            return result.why_not
        return confirmation_sentence(result.confirmation, self.trials.metric, self.trials.mode)

    @property
    def default_stays(self) -> bool | None:
        """Whether the best trial was not shown to be better than the default; None where they were not compared."""
        return None if self.result is None else self.result.default_stays(self.trials.mode)

    @property
    def unconfirmed(self) -> str:
        """Why the best trial has no result although the sweep ended; empty where it has one or the sweep goes on."""
        if self._result is None or self.best is None or self.result is not None:
            return ""
        return (
            f"The sweep ended with trial {self._result.number} as its best: what this one is worth on other "
            "queries, and how it is used, cocite tune tells with --resume and this budget."
        )

    @cached_property
    def importance(self) -> Importance | None:
        """The importance of each parameter; None where the trials are too few or too similar."""
        return measure_importance(self.view)

    @property
    def facts(self) -> dict[str, str]:
        """The facts at the top of the page, by name."""
        states = Counter(trial.state for trial in self.trials.trials)
        counts = ", ".join(f"{states[s]} {s}" for s in ("finished", "stopped", "failed") if states[s])
        better = "greater" if self.trials.mode == "max" else "smaller"
        facts = {
            "trials": f"{len(self.trials.trials)} ({counts or 'none yet'})",
            "metric": f"{self.trials.metric}, {better} is better",
            "time in trials": _duration(sum(trial.seconds for trial in self.trials.trials)),
        }
        if self.budget is not None:
            facts["budget"] = f"at most {self.budget:g} ms a query"
        return facts

    @property
    def chosen(self) -> Table | None:
        """The best trial's parameters and metrics, beside those of the default."""
        best, base = self.best, self.view.baseline
        if best is None:
            return None
        others = [base] if base is not None and base.number != best.number else []
        columns = ["", f"trial {best.number}", *(DEFAULT for _ in others)]
        rows = [[name, format_value(value), *("" for _ in others)] for name, value in best.params.items()]
        rows += [
            [name, format_metric(value), *(format_metric(other.metrics.get(name)) for other in others)]
            for name, value in best.metrics.items()
        ]
        return Table(columns, rows)

    @property
    def frontier(self) -> Table | None:
        """The trials that no other trial beats in both quality and latency, numbered as in the figure."""
        if not self.view.has_latency:
            return None
        rows = [
            [
                str(i),
                format_value(trial.metrics[LATENCY]),
                format_metric(self.trials.value(trial)),
                format_params(trial),
                str(trial.number),
            ]
            for i, trial in enumerate(self.view.frontier(), 1)
        ]
        return Table(["", "ms a query", self.trials.metric, "parameters", "trial"], rows)

    @property
    def depths(self) -> list[Table]:
        """The best trial at each value of each parameter that counts something."""
        if not self.view.has_latency:
            return []
        return [
            Table(
                [column.name, self.trials.metric, "ms a query"],
                [
                    [
                        format_value(value),
                        format_metric(self.trials.value(trial)),
                        format_value(trial.metrics[LATENCY]),
                    ]
                    for value, trial in self.view.best_by(column)
                ],
            )
            for column in count_columns(self.view)
        ]

    @property
    def listed(self) -> Table:
        """The best trials, followed by those that did not finish."""
        ranked = self.trials.ranked
        rest = [trial for trial in self.trials.trials if trial not in ranked]
        chosen = [*ranked, *rest][:LISTED]
        names = list(dict.fromkeys(name for trial in chosen for name in trial.params))
        metrics = list(dict.fromkeys(name for trial in chosen for name in trial.metrics))
        states = [" ".join(filter(None, (trial.phase, trial.state))) for trial in chosen]
        states_differ = len(set(states)) > 1
        labels = {column.name: column.label for column in self.view.columns}
        shorter = [labels.get(name, name) for name in names]
        columns = ["trial", *(["state"] if states_differ else []), *metrics, *shorter, "seconds"]
        rows = [
            [
                str(trial.number),
                *([state] if states_differ else []),
                *(format_metric(trial.metrics.get(name)) for name in metrics),
                *(format_value(trial.params.get(name)) for name in names),
                f"{trial.seconds:.1f}",
            ]
            for trial, state in zip(chosen, states, strict=True)
        ]
        return Table(columns, rows)

    @property
    def failures(self) -> Table | None:
        """The reasons why trials failed, with the number of trials."""
        reasons = Counter(trial.error for trial in self.trials.trials if trial.state == "failed")
        rows = [[str(count), reason or "not recorded"] for reason, count in reasons.most_common()]
        return Table(["trials", "why"], rows) if rows else None

    @cached_property
    def figures(self) -> Mapping[str, str]:
        """SVG elements by name, without those that would be empty."""
        view, importance = self.view, self.importance
        drawn = {
            "speed": latency_frontier(view, budget=self.budget, chosen=self.best),
            "depths": best_by_count(view),
            "importance": importances(view, importance) if importance is not None else None,
            "parallel": parallel(view, importance),
            "slices": slices(view, importance),
            "curves": curves(view),
        }
        return {name: svg for name, svg in drawn.items() if svg is not None}

    def to_dict(self) -> dict[str, Any]:
        """The report's numbers, for ``--json``."""
        view, best, result = self.view, self.best, self.result
        return {
            "sweep": self.trials.sweep,
            "metric": self.trials.metric,
            "mode": self.trials.mode,
            "trials": Counter(trial.state for trial in self.trials.trials),
            "best": best.model_dump(exclude={"curve"}) if best is not None else None,
            "confirmation": result.confirmation if result is not None else None,
            "default_stays": self.default_stays,
            "use": {"commands": result.commands, "notes": result.notes} if result is not None else None,
            "default": view.baseline.model_dump(exclude={"curve"}) if view.baseline is not None else None,
            "importance": asdict(self.importance) if self.importance is not None else None,
            "frontier": [trial.model_dump(exclude={"curve"}) for trial in view.frontier()]
            if view.has_latency
            else [],
        }


def _duration(seconds: float) -> str:
    """Seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

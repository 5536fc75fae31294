"""The report as one HTML page, and as the files that MLflow keeps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cocite.atomic_files import write_atomic
from cocite.errors import NotFoundError
from cocite_tuning.report import plots
from cocite_tuning.report.figures import DRAWN
from cocite_tuning.report.importance import LEAST, TRUSTED, Importance, importance
from cocite_tuning.report.view import DEFAULT, View, described, measured, shown
from cocite_tuning.run.result import FILE, Outcome, confirmed, use_heading
from cocite_tuning.run.trials import LATENCY, Trial, Trials

LISTED = 50
"""Trials in the table of the page; the others are in the file of trials."""
TRIALS = "trials.json"


@dataclass(frozen=True)
class Table:
    """Columns and rows of cells that are text already."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class SweepReport:
    """All that is told of a sweep.

    Args:
        trials: of the sweep.
        outcome: what came of the sweep when it ended; left aside where it is of another trial than the best.
        max_latency_ms: a budget; the best trial is then the best within it.
    """

    def __init__(
        self, trials: Trials, *, outcome: Outcome | None = None, max_latency_ms: float | None = None
    ) -> None:
        self.trials, self.budget, self._outcome = trials, max_latency_ms, outcome
        self.view = View(trials)

    # -- what is told ----------------------------------------------------------------------------------------

    @cached_property
    def best(self) -> Trial | None:
        """The best trial, within the budget if there is one; None where no trial finished.

        Raises:
            NotFoundError: trials finished, and none keeps within the budget.
        """
        if not self.trials.ranked:
            return None
        return self.trials.best(at_most={LATENCY: self.budget} if self.budget is not None else None)

    @property
    def outcome(self) -> Outcome | None:
        """What came of the best trial; None where the sweep did not end with this one."""
        return self._outcome if self._outcome is not None and self._outcome.of(self.best) else None

    @property
    def confirmation(self) -> str:
        """What the best trial is worth on queries that no trial saw, or why that is not known; may be empty."""
        found = self.outcome
        if found is None:
            return self.unconfirmed
        if found.confirmation is None:
            return found.why_not
        return confirmed(found.confirmation, self.trials.metric, self.trials.mode)

    @property
    def default_stays(self) -> bool | None:
        """Whether the best trial was not shown to be better than the default; None where they were not compared."""
        return None if self.outcome is None else self.outcome.default_stays(self.trials.mode)

    @property
    def unconfirmed(self) -> str:
        """Why nothing more is known of the best trial; empty where the sweep has simply not ended."""
        if self._outcome is None or self.best is None or self.outcome is not None:
            return ""
        return (
            f"The sweep ended with trial {self._outcome.number} as its best: what this one is worth on other "
            "queries, and how it is used, cocite tune tells with --resume and this budget."
        )

    @cached_property
    def importance(self) -> Importance | None:
        """How much each parameter matters; None where too little is known."""
        return importance(self.view)

    @property
    def facts(self) -> dict[str, str]:
        """What stands at the top."""
        states = Counter(trial.state for trial in self.trials.trials)
        counts = ", ".join(f"{states[s]} {s}" for s in ("finished", "stopped", "failed") if states[s])
        better = "greater" if self.trials.mode == "max" else "smaller"
        facts = {
            "trials": f"{len(self.trials.trials)} ({counts or 'none yet'})",
            "metric": f"{self.trials.metric}, {better} is better",
            "time in trials": _time(sum(trial.seconds for trial in self.trials.trials)),
        }
        if self.budget is not None:
            facts["budget"] = f"at most {self.budget:g} ms a query"
        return facts

    @property
    def chosen(self) -> Table | None:
        """The best trial's parameters and metrics beside those of the thing as it is."""
        best, base = self.best, self.view.baseline
        if best is None:
            return None
        others = [base] if base is not None and base.number != best.number else []
        columns = ["", f"trial {best.number}", *(DEFAULT for _ in others)]
        rows = [[name, shown(value), *("" for _ in others)] for name, value in best.params.items()]
        rows += [
            [name, measured(value), *(measured(other.metrics.get(name)) for other in others)]
            for name, value in best.metrics.items()
        ]
        return Table(columns, rows)

    @property
    def frontier(self) -> Table | None:
        """The trials that no other beats in both quality and latency, numbered as in the figure."""
        if not self.view.costed:
            return None
        rows = [
            [
                str(i),
                shown(trial.metrics[LATENCY]),
                measured(self.trials.value(trial)),
                described(trial),
                str(trial.number),
            ]
            for i, trial in enumerate(self.view.frontier(), 1)
        ]
        return Table(["", "ms a query", self.trials.metric, "parameters", "trial"], rows)

    @property
    def depths(self) -> list[Table]:
        """For each parameter that counts something, the best trial at each of its values."""
        if not self.view.costed:
            return []
        return [
            Table(
                [column.name, self.trials.metric, "ms a query"],
                [
                    [shown(value), measured(self.trials.value(trial)), shown(trial.metrics[LATENCY])]
                    for value, trial in self.view.best_by(column)
                ],
            )
            for column in plots.counted(self.view)
        ]

    @property
    def listed(self) -> Table:
        """The best trials, and behind them those that did not finish."""
        ranked = self.trials.ranked
        rest = [trial for trial in self.trials.trials if trial not in ranked]
        chosen = [*ranked, *rest][:LISTED]
        names = list(dict.fromkeys(name for trial in chosen for name in trial.params))
        metrics = list(dict.fromkeys(name for trial in chosen for name in trial.metrics))
        states = [" ".join(filter(None, (trial.phase, trial.state))) for trial in chosen]
        told = len(set(states)) > 1
        labels = {column.name: column.label for column in self.view.columns}
        shorter = [labels.get(name, name) for name in names]
        columns = ["trial", *(["state"] if told else []), *metrics, *shorter, "seconds"]
        rows = [
            [
                str(trial.number),
                *([state] if told else []),
                *(measured(trial.metrics.get(name)) for name in metrics),
                *(shown(trial.params.get(name)) for name in names),
                f"{trial.seconds:.1f}",
            ]
            for trial, state in zip(chosen, states, strict=True)
        ]
        return Table(columns, rows)

    @property
    def failures(self) -> Table | None:
        """Why trials failed, each reason once."""
        reasons = Counter(trial.error for trial in self.trials.trials if trial.state == "failed")
        rows = [[str(count), reason or "not told"] for reason, count in reasons.most_common()]
        return Table(["trials", "why"], rows) if rows else None

    @cached_property
    def figures(self) -> Mapping[str, str]:
        """SVG elements by name; a figure that would show nothing is not among them."""
        view, found = self.view, self.importance
        made = {
            "speed": plots.speed(view, budget=self.budget, chosen=self.best),
            "depths": plots.depths(view),
            "importance": plots.importances(view, found) if found is not None else None,
            "parallel": plots.parallel(view, found),
            "slices": plots.slices(view, found),
            "curves": plots.curves(view),
        }
        return {name: svg for name, svg in made.items() if svg is not None}

    # -- written ---------------------------------------------------------------------------------------------

    def html(self) -> str:
        """The page."""
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup

        environment = Environment(
            loader=PackageLoader("cocite_tuning.report", "."),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        return environment.get_template("page.html").render(
            report=self,
            name=self.trials.sweep,
            figures={name: Markup(svg) for name, svg in self.figures.items()},
            drawn=min(len(self.view.compared), DRAWN),
            axes=min(len(self.view.columns), plots.AXES),
            least=LEAST,
            trusted=TRUSTED,
            listed=LISTED,
            measured=measured,
            use_heading=use_heading(not self.default_stays),
        )


def write_report(
    trials: Trials,
    path: str | Path,
    *,
    outcome: Outcome | None = None,
    max_latency_ms: float | None = None,
) -> Path:
    """Write the report of a sweep as one self-contained HTML page.

    Args:
        trials: of the sweep.
        path: the file.
        outcome: what came of the sweep, if it has ended.
        max_latency_ms: a budget that the best trial must keep within.

    Returns:
        The file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, SweepReport(trials, outcome=outcome, max_latency_ms=max_latency_ms).html())
    return path


def write_artifacts(
    trials: Trials,
    folder: str | Path,
    *,
    outcome: Outcome | None = None,
    max_latency_ms: float | None = None,
) -> list[Path]:
    """Write what a sweep's run in MLflow keeps: the page, each figure, the importances and the trials.

    Returns:
        The files: ``report.html``, ``trials.json``, ``NAME.svg`` for each figure that there is, ``importance.json``;
        ``best.json`` of a sweep that has ended.
    """
    folder = Path(folder)
    report = SweepReport(trials, outcome=outcome, max_latency_ms=max_latency_ms)
    folder.mkdir(parents=True, exist_ok=True)
    files = {"report.html": report.html()} | {f"{name}.svg": svg for name, svg in report.figures.items()}
    if report.importance is not None:
        files["importance.json"] = json.dumps(asdict(report.importance), indent=1) + "\n"
    if outcome is not None:
        files[FILE] = outcome.text()
    for name, text in files.items():
        write_atomic(folder / name, text)
    trials.write(folder / TRIALS)
    return [*(folder / name for name in files), folder / TRIALS]


def read_trials(path: str | Path) -> Trials:
    """The trials of a sweep, given their file or the folder that holds it."""
    path = Path(path)
    if path.is_dir() and not (path / TRIALS).is_file():
        raise NotFoundError(f"holds no {TRIALS}", where=str(path), hint="name the folder of a sweep")
    return Trials.read(path / TRIALS if path.is_dir() else path)


def _time(seconds: float) -> str:
    """A duration in words."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def plain(report: SweepReport) -> dict[str, Any]:
    """The report's numbers for a machine."""
    view, best, outcome = report.view, report.best, report.outcome
    return {
        "sweep": report.trials.sweep,
        "metric": report.trials.metric,
        "mode": report.trials.mode,
        "trials": Counter(trial.state for trial in report.trials.trials),
        "best": best.model_dump(exclude={"curve"}) if best is not None else None,
        "confirmation": outcome.confirmation if outcome is not None else None,
        "default_stays": report.default_stays,
        "use": {"commands": outcome.commands, "notes": outcome.notes} if outcome is not None else None,
        "default": view.baseline.model_dump(exclude={"curve"}) if view.baseline is not None else None,
        "importance": asdict(report.importance) if report.importance is not None else None,
        "frontier": [trial.model_dump(exclude={"curve"}) for trial in view.frontier()] if view.costed else [],
    }

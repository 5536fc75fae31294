"""``cocite tune report``: the page of a sweep, and its best trial on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cocite.cli.console import out, print_json, print_note, print_table
from cocite.cli.options import JsonOption

if TYPE_CHECKING:
    from cocite_tuning.run.champion import Verdict
    from cocite_tuning.run.result import Outcome
    from cocite_tuning.run.trials import Trials


def report(
    sweep: Annotated[Path, typer.Argument(help="Folder of a sweep, or its file of trials.")],
    to: Annotated[
        Path | None, typer.Option(help="HTML page to write [default: report.html beside the trials].")
    ] = None,
    max_latency_ms: Annotated[
        float | None,
        typer.Option(min=0, max=1_000_000_000, help="Best trial within so many milliseconds a query."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write what a sweep found as one HTML page that opens without a network."""
    from cocite.atomic_files import write_atomic
    from cocite_tuning.report.page import SweepReport, plain, read_trials
    from cocite_tuning.run.result import Outcome

    folder = sweep if sweep.is_dir() else sweep.parent
    made = SweepReport(read_trials(sweep), outcome=Outcome.read(folder), max_latency_ms=max_latency_ms)
    best = made.best
    path = to or folder / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, made.html())
    print_note(f"written: {path}")
    if as_json:
        print_json(plain(made) | {"report": path})
        return
    out.print(f"{made.trials.sweep}: " + ", ".join(f"{key} {value}" for key, value in made.facts.items()))
    if best is not None and made.chosen is not None:
        print_table(f"trial {best.number}, the best", made.chosen.columns, made.chosen.rows)
        if made.outcome is not None:
            show_outcome(made.outcome, made.trials)
        elif made.unconfirmed:
            out.print(made.unconfirmed)
    if made.frontier is not None:
        print_table(
            "speed against quality: no trial beats these in both", made.frontier.columns, made.frontier.rows
        )
        for part in made.depths:
            print_table(f"by {part.columns[0]}", part.columns, part.rows)
    found = made.importance
    if found is not None:
        rows = [[name, f"{loss:.3f}", f"{deviation:.3f}"] for name, loss, deviation in found.parameters]
        print_table(f"importance, from {found.trials} trials", ["parameter", "loss of R²", "±"], rows)
        if not found.trusted:
            out.print(
                "The forest explains too little of the metric for this order to mean much.", style="dim"
            )


def show_outcome(outcome: Outcome, trials: Trials, verdict: Verdict | None = None) -> None:
    """Print what the best trial is worth on other queries, what became of it as a contender, and how it is used.

    The commands are a recommendation only where neither says that what was there before stays.
    """
    from cocite_tuning.run.result import confirmed, use_heading

    told = outcome.why_not
    if outcome.confirmation is not None:
        told = confirmed(outcome.confirmation, trials.metric, trials.mode)
    if told:
        out.print(told)
    if verdict is not None:
        out.print(verdict.sentence())
    if outcome.commands:
        lost = outcome.default_stays(trials.mode) or (verdict is not None and not verdict.won)
        out.print(f"{use_heading(not lost)}:")
        for line in outcome.commands:
            out.print(f"  {line}", soft_wrap=True)
    for note in outcome.notes:
        out.print(note)

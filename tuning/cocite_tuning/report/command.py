"""``cocite tune report``: writes the page of a sweep and prints its best trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cocite.cli.console import out, print_json, print_note, print_table
from cocite.cli.options import JsonOption

if TYPE_CHECKING:
    from cocite_tuning.sweep.promotion import PromotionResult
    from cocite_tuning.sweep.result import SweepResult
    from cocite_tuning.sweep.trials import Trials


def report(
    sweep: Annotated[
        str,
        typer.Argument(
            help="Folder of a sweep, or its file of trials: a path, or a URI (s3://, gs://, ...)."
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(metavar="PATH|URI", help="HTML page to write [default: report.html beside the trials]."),
    ] = None,
    max_latency_ms: Annotated[
        float | None,
        typer.Option(min=0, max=1_000_000_000, help="Best trial within so many milliseconds a query."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write what a sweep found as one HTML page that opens without a network."""
    from cocite_jobs.storage.location import Location
    from cocite_tuning.report.contents import SweepReport
    from cocite_tuning.report.page import REPORT_FILE, render_html
    from cocite_tuning.sweep.result import SweepResult
    from cocite_tuning.sweep.trials import read_trials

    # Of a sweep elsewhere two small files are read: a copy of its folder would bring every model of its trials.
    place = Location.of(sweep)
    folder = place.parent if place.is_file() else place
    trials, result = read_trials(sweep), SweepResult.read(folder.uri)
    contents = SweepReport(trials, result=result, max_latency_ms=max_latency_ms)
    best = contents.best
    page = Location.of(to) if to is not None else folder / REPORT_FILE
    page.parent.write(page.name, render_html(contents))
    print_note(f"written: {page.uri}")
    if as_json:
        print_json(contents.to_dict() | {"report": page.uri})
        return
    out.print(
        f"{contents.trials.sweep}: " + ", ".join(f"{key} {value}" for key, value in contents.facts.items())
    )
    if best is not None and contents.chosen is not None:
        print_table(f"trial {best.number}, the best", contents.chosen.columns, contents.chosen.rows)
        if contents.result is not None:
            show_result(contents.result, contents.trials)
        elif contents.unconfirmed:
            out.print(contents.unconfirmed)
    if contents.frontier is not None:
        print_table(
            "speed against quality: no trial beats these in both",
            contents.frontier.columns,
            contents.frontier.rows,
        )
        for part in contents.depths:
            print_table(f"by {part.columns[0]}", part.columns, part.rows)
    importance = contents.importance
    if importance is not None:
        rows = [[name, f"{loss:.3f}", f"{deviation:.3f}"] for name, loss, deviation in importance.parameters]
        print_table(f"importance, from {importance.trials} trials", ["parameter", "loss of R²", "±"], rows)
        if not importance.trusted:
            out.print(
                "The forest explains too little of the metric for this order to mean much.", style="dim"
            )


def show_result(result: SweepResult, trials: Trials, promotion: PromotionResult | None = None) -> None:
    """Print how the best trial compares with the default and with the champion, and the commands that use it.

    The heading recommends the commands unless one of the two comparisons says that the default or the champion stays.

    Args:
        result: of the sweep.
        trials: of the sweep.
        promotion: who holds the champion's alias; None where the sweep has no champion.
    """
    from cocite_tuning.sweep.result import confirmation_sentence, usage_heading

    sentence = result.why_not
    if result.confirmation is not None:
        sentence = confirmation_sentence(result.confirmation, trials.metric, trials.mode)
    if sentence:
        out.print(sentence)
    if promotion is not None:
        out.print(promotion.sentence())
    if result.commands:
        stays = result.default_stays(trials.mode) or (promotion is not None and not promotion.won)
        out.print(f"{usage_heading(not stays)}:")
        for line in result.commands:
            out.print(f"  {line}", soft_wrap=True)
    for note in result.notes:
        out.print(note)

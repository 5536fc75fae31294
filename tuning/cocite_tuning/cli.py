"""``cocite tune``: run a sweep, list those that come with cocite, and report what one found."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from cocite.cli.console import JsonFlag, NoVerifyFlag, Stages, emit, err, out, stages, table
from cocite.errors import InputError
from cocite_tuning.report.command import report, show_outcome

if TYPE_CHECKING:
    from cocite_tuning.run.driver import Plan, Swept
    from cocite_tuning.run.trials import Trial, Trials


class _SweepByDefault(TyperGroup):
    """``cocite tune SWEEP`` is ``cocite tune run SWEEP``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``run`` before what names no command."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Search hyperparameters: `cocite tune SWEEP --corpus CORPUS` runs a sweep.",
    cls=_SweepByDefault,
    no_args_is_help=True,
    add_completion=False,
)
app.command("report")(report)


@app.command("run")
def run(
    sweep: Annotated[
        str, typer.Argument(help="Name of a shipped sweep (`cocite tune list`) or a YAML file.")
    ],
    overrides: Annotated[list[str] | None, typer.Argument(help="key.path=value, any number.")] = None,
    corpus: Annotated[
        str, typer.Option("--corpus", help="Corpus store to tune on: a path, or a URI (s3://, gs://, ...).")
    ] = "corpus",
    to: Annotated[
        str | None,
        typer.Option("--to", help="Folder of the sweep, which all nodes see [default: sweeps/NAME]."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an unfinished sweep; refused where there is none.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Throw the sweep that is there away.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Look at the sweep and start nothing.")] = False,
    address: Annotated[
        str | None,
        typer.Option(
            "--address", help="Of a running Ray cluster [default: RAY_ADDRESS, else a private Ray]."
        ),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for resources that a growing cluster does not have yet.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Let Ray's own log through.")] = False,
    max_latency_ms: Annotated[
        float | None,
        typer.Option(
            min=0, max=1_000_000_000, help="The best trial is the best within so many milliseconds a query."
        ),
    ] = None,
    track: Annotated[bool, typer.Option("--track/--no-track", help="Keep the sweep in MLflow.")] = True,
    json_: JsonFlag = False,
    _no_verify: NoVerifyFlag = False,
) -> None:
    """Run a sweep: many trials on dev, the best of them kept, and made champion if it beats the present one.

    All that ended is on disk at once: a sweep that was stopped, killed or lost with its machine goes on with --resume.
    """
    from cocite_mlflow.connection import TrackingSettings
    from cocite_tuning.run.driver import Manner, planned, tune
    from cocite_tuning.sweep.sweep import load_sweep

    if resume and fresh:
        raise InputError("--resume and --fresh exclude each other", where="tune")
    if to is not None and "://" in to:
        raise InputError(f"{to!r} is no folder", where="--to", hint="name one that all nodes share")
    settings = load_sweep(sweep, overrides or [])
    folder = Path(to) if to else Path("sweeps") / settings.name
    plan = planned(settings, corpus, folder, here=not check)
    if check:
        _show_plan(plan, json_)
        return
    start: Literal["new", "resume", "fresh"] = "resume" if resume else "fresh" if fresh else "new"
    manner = Manner(start, address, wait, verbose, max_latency_ms, TrackingSettings(enabled=track))
    # Ended from outside, by a scheduler or a job's end, it still ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with stages() as bar:
        swept = tune(plan, manner, _listener(bar, quiet=json_))
    if json_:
        emit(_document(swept))
    else:
        _show(swept)


@app.command("list")
def list_(json_: JsonFlag = False) -> None:
    """List the sweeps that come with cocite."""
    from cocite_tuning.sweep.spaces import Space
    from cocite_tuning.sweep.sweep import load_sweep, shipped_sweeps

    found = {name: load_sweep(name) for name in shipped_sweeps()}
    if json_:
        emit({name: sweep.model_dump(mode="json", by_alias=True) for name, sweep in found.items()})
        return
    rows = [
        [name, getattr(s.study, "recipe", s.kind), s.metric.name, ", ".join(Space.parse(s.space).keys())]
        for name, s in found.items()
    ]
    table("sweeps", ["sweep", "of", "metric", "parameters"], rows)


def _listener(bar: Stages, *, quiet: bool) -> Any:
    from cocite_tuning.report.view import described
    from cocite_tuning.run.trial_runner import Listener

    def ended(trial: Trial, trials: Trials) -> None:
        bar.advance(1)
        if quiet:
            return
        value, ranked = trials.value(trial), trials.ranked
        figure = f"{trials.metric} {value:.4f}" if value == value else trial.error
        best = (
            f"best {trials.value(ranked[0]):.4f}, trial {ranked[0].number}" if ranked else "none finished yet"
        )
        state = "" if trial.state == "finished" else f" {trial.state}"
        err.print(
            f"trial {trial.number}{state}: {figure} ({best}), {trial.seconds:.0f} s: {described(trial)}",
            highlight=False,
            soft_wrap=True,
        )

    def again(number: int) -> None:
        err.print(f"trial {number} is taken up again: its process died", highlight=False)

    return Listener(bar.stage, ended, again)


def _show_plan(plan: Plan, json_: bool) -> None:
    sweep = plan.sweep
    if json_:
        emit({"sweep": sweep.model_dump(mode="json", by_alias=True), "parameters": plan.space.keys()})
        return
    rows = [
        [term.label, f"{term.kind} {list(term.numbers or term.ends())}"] for term in plan.space.all_terms()
    ]
    table(f"{sweep.name}: {sweep.budget.trials} trials", ["parameter", "drawn from"], rows)


def _show(swept: Swept) -> None:
    from cocite_tuning.report.view import measured, shown

    trials, best = swept.trials, swept.best
    states = [
        f"{sum(t.state == state for t in trials.trials)} {state}"
        for state in ("finished", "stopped", "failed")
    ]
    rows = [[trials.metric, measured(trials.value(best))]]
    as_it_is = next((t for t in trials.trials if not t.params and t.phase == best.phase), None)
    if as_it_is is not None and as_it_is.state == "finished":
        rows.append([f"{trials.metric} of the default", measured(trials.value(as_it_is))])
    rows += [[name, shown(value)] for name, value in best.params.items()]
    out.print(
        f"{trials.sweep}: trial {best.number} is the best of {len(trials.trials)} ({', '.join(states)})"
    )
    table("", ["", "value"], rows)
    show_outcome(best, trials, swept.verdict)
    where = f"model: {swept.model}   " if swept.model else ""
    err.print(f"{where}report: {swept.report}", highlight=False, soft_wrap=True)


def _document(swept: Swept) -> dict[str, Any]:
    from cocite_tuning.run.trials import Trial

    states = [trial.state for trial in swept.trials.trials]
    return {
        "folder": swept.folder,
        "run": swept.run_id,
        "metric": swept.trials.metric,
        "trials": {state: states.count(state) for state in ("finished", "stopped", "failed")},
        "best": swept.best.model_dump(mode="json", include=set(Trial.model_fields)),
        "confirmation": swept.best.confirmation,
        "default_stays": swept.best.default_stays(swept.trials.mode),
        "use": {"commands": swept.best.commands, "notes": swept.best.notes},
        "model": swept.model,
        "verdict": swept.verdict,
        "report": swept.report,
    }

"""``cocite tune``: run a sweep, list those that come with cocite, and report what one found."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from cocite.cli.console import err, out, print_json, print_note, print_table, progress_bar
from cocite.cli.options import (
    JsonOption,
    NoVerifyOption,
    OverridesArgument,
    RayAddressOption,
    VerboseOption,
    WaitOption,
    start_mode,
)
from cocite.cli.signals import exit_on_sigterm
from cocite.progress_bars import StagedBars
from cocite_tuning.report.command import report, show_result

if TYPE_CHECKING:
    from cocite_tuning.run.driver import FinishedSweep
    from cocite_tuning.run.plan import SweepPlan
    from cocite_tuning.sweep.trials import Trial, Trials


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
    overrides: OverridesArgument = None,
    corpus: Annotated[
        str, typer.Option("--corpus", help="Corpus store to tune on: a path, or a URI (s3://, gs://, ...).")
    ] = "corpus",
    to: Annotated[
        str | None,
        typer.Option("--to", help="Folder of the sweep, which all nodes see, or URI [default: sweeps/NAME]."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an unfinished sweep; refused where there is none.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Discard the existing sweep and start over.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Check the sweep and start nothing.")] = False,
    address: RayAddressOption = None,
    wait: WaitOption = False,
    verbose: VerboseOption = False,
    max_latency_ms: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1_000_000_000,
            help="Most milliseconds a query may take in the best trial.",
        ),
    ] = None,
    track: Annotated[bool, typer.Option("--track/--no-track", help="Keep the sweep in MLflow.")] = True,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Run a sweep: many trials on dev, the best of them kept, and made champion if it beats the present one.

    Each trial is on disk when it ends: --resume continues a sweep that was stopped, killed or lost with its machine.
    """
    from cocite_mlflow.connection import TrackingSettings
    from cocite_tuning.run.driver import SweepOptions, run_sweep
    from cocite_tuning.run.plan import plan_sweep
    from cocite_tuning.sweep.sweep import load_sweep

    start = start_mode(resume, fresh, command="tune")
    settings = load_sweep(sweep, overrides or [])
    folder, uri = Path(to) if to else Path("sweeps") / settings.name, ""
    with ExitStack() as stack:
        if to is not None and "://" in to:
            uri = to
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cocite-sweep-")))
        plan = plan_sweep(settings, corpus, folder, here=not check, uri=uri)
        if check:
            _print_plan(plan, as_json)
            return
        options = SweepOptions(start, address, wait, verbose, max_latency_ms, TrackingSettings(enabled=track))
        exit_on_sigterm()
        with StagedBars(progress_bar) as bar:
            swept = run_sweep(plan, options, _callback(bar, quiet=as_json))
    if as_json:
        print_json(_result_document(swept))
    else:
        _print_result(swept)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the sweeps that come with cocite."""
    from cocite_tuning.sweep.spaces import Space
    from cocite_tuning.sweep.sweep import load_sweep, shipped_sweeps

    sweeps = {name: load_sweep(name) for name in shipped_sweeps()}
    if as_json:
        print_json({name: sweep.model_dump(mode="json", by_alias=True) for name, sweep in sweeps.items()})
        return
    rows = [
        [name, getattr(s.study, "recipe", s.kind), s.metric.name, ", ".join(Space.parse(s.space).keys())]
        for name, s in sweeps.items()
    ]
    print_table("sweeps", ["sweep", "of", "metric", "parameters"], rows)


def _callback(bar: StagedBars, *, quiet: bool) -> Any:
    from cocite_tuning.report.formatting import format_params
    from cocite_tuning.run.callback import SweepCallback

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
        print_note(
            f"trial {trial.number}{state}: {figure} ({best}), {trial.seconds:.0f} s: {format_params(trial)}"
        )

    def again(number: int) -> None:
        err.print(f"trial {number} is taken up again: its process died", highlight=False)

    return SweepCallback(bar.stage, ended, again)


def _print_plan(plan: SweepPlan, as_json: bool) -> None:
    sweep = plan.sweep
    if as_json:
        print_json({"sweep": sweep.model_dump(mode="json", by_alias=True), "parameters": plan.space.keys()})
        return
    rows = [
        [term.label, f"{term.kind} {list(term.numbers or term.extremes())}"]
        for term in plan.space.all_terms()
    ]
    print_table(f"{sweep.name}: {sweep.budget.trials} trials", ["parameter", "drawn from"], rows)


def _print_result(swept: FinishedSweep) -> None:
    from cocite_tuning.report.formatting import format_metric, format_value

    trials, best = swept.trials, swept.best
    states = [
        f"{sum(t.state == state for t in trials.trials)} {state}"
        for state in ("finished", "stopped", "failed")
    ]
    rows = [[trials.metric, format_metric(trials.value(best))]]
    as_it_is = next((t for t in trials.trials if not t.params and t.phase == best.phase), None)
    if as_it_is is not None and as_it_is.state == "finished":
        rows.append([f"{trials.metric} of the default", format_metric(trials.value(as_it_is))])
    rows += [[name, format_value(value)] for name, value in best.params.items()]
    out.print(
        f"{trials.sweep}: trial {best.number} is the best of {len(trials.trials)} ({', '.join(states)})"
    )
    print_table("", ["", "value"], rows)
    show_result(best, trials, swept.promotion)
    where = f"model: {swept.model}   " if swept.model else ""
    print_note(f"{where}report: {swept.report}")


def _result_document(swept: FinishedSweep) -> dict[str, Any]:
    from cocite_tuning.sweep.trials import Trial

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
        "verdict": swept.promotion,
        "report": swept.report,
    }

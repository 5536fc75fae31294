"""``cocite train``: a recipe, a corpus, a model folder."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cocite.cli.console import err, print_json, print_note, print_table, print_warnings, progress_bar
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
from cocite.errors import InputError
from cocite.progress_bars import StagedBars
from cocite_jobs.cli.options import ALIAS, RegisterOption

app = typer.Typer(help="Train a model from a recipe.", add_completion=False)

COUNTING = ("fusion", "final", "confidence")
"""Kinds that weigh counts of the history before dev: without links they can be trained, and those counts are zero. The
other kinds that read links cannot (:meth:`cocite.training.periods.Periods.of`)."""


@app.command()
def train(
    recipe: Annotated[
        str, typer.Argument(help="Name of a shipped recipe (nnselect, hatten, ...) or a YAML file.")
    ],
    overrides: OverridesArgument = None,
    corpus: Annotated[
        str, typer.Option("--corpus", help="Corpus store to train on: a path, or a URI (s3://, gs://, ...).")
    ] = "corpus",
    to: Annotated[
        str, typer.Option("--to", help="Model folder, a path or a URI; the artifact is a subfolder.")
    ] = "model",
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an unfinished training; refused where there is none.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Discard an unfinished training and start over.")
    ] = False,
    on: Annotated[
        Literal["ray", "process"] | None,
        typer.Option(
            "--on",
            help="Where a neural kind trains: on Ray's workers, or in this process without Ray (in each one that "
            "torchrun starts) [default: ray; process where workers.count is 0, as for nnselect and nnrank, and "
            "under torchrun].",
        ),
    ] = None,
    address: RayAddressOption = None,
    wait: WaitOption = False,
    verbose: VerboseOption = False,
    register: RegisterOption = None,
    index: Annotated[
        Path | None,
        typer.Option(
            help="With --register: index whose papers ask the golden queries that are kept with the model, by which an "
            "endpoint proves it before it serves it.",
        ),
    ] = None,
    track: Annotated[bool, typer.Option("--track/--no-track", help="Keep the run in MLflow.")] = True,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Train a model and write it into a model folder.

    A training that was stopped leaves checkpoints: --resume continues from the last one, --fresh starts over.
    """
    from cocite.corpus.cold_history import cold_before
    from cocite.corpus.store import Corpus
    from cocite.manifests import read_manifest
    from cocite_jobs.storage.cache import fetch_local
    from cocite_jobs.training.golden import golden_note
    from cocite_jobs.training.progress import ProgressFunctions
    from cocite_jobs.training.recipes import load_recipe
    from cocite_jobs.training.registry import KINDS
    from cocite_jobs.training.train import open_session
    from cocite_jobs.training.types import LaunchOptions
    from cocite_mlflow.connection import TrackingSettings
    from cocite_mlflow.registration import register_model
    from cocite_mlflow.runs import start_run

    start = start_mode(resume, fresh, command="train")
    name, alias = _parse_registration(register, track)
    if index is not None:
        _check_index(index, name, to)
    settings: Any = load_recipe(recipe, overrides or [])
    kind, neural = str(settings.kind), KINDS[settings.kind].uses_engine
    store = Corpus.open(fetch_local(corpus))
    if kind in COUNTING:
        print_warnings(cold_before(store, "dev"))
    launch = LaunchOptions(start, on, address, wait, verbose, corpus if "://" in corpus else None)
    tags = {"corpus": store.version, "kind": kind}
    history: list[dict[str, float]] = []
    notes: list[str] = []
    exit_on_sigterm()
    with ExitStack() as stack:
        training = stack.enter_context(open_session(settings, store, to, launch))
        # The session's recipe has the backend that trains, which several workers decide.
        params = {"recipe": recipe, **training.recipe.model_dump(mode="json")}
        if neural:
            tags["backend"] = training.recipe.training.backend
        kept = TrackingSettings(enabled=track and training.is_first)
        run = stack.enter_context(
            start_run(
                kind, experiment="train", params=params, tags=tags, tracking=kept, resume=training.mlflow_run
            )
        )
        training.set_mlflow_run(run.id)
        if neural:
            run.set_tag("backend", tags["backend"])  # a run that is continued may have had another
        bar = stack.enter_context(StagedBars(progress_bar))

        def log(metrics: dict[str, float], step: int) -> None:
            history.append(metrics | ({"step": step} if neural else {}))
            run.log_metrics(metrics, step)
            if not as_json:
                values = "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())
                print_note(f"{'step' if neural else 'epoch'} {step}: {values}")

        result = training.train(ProgressFunctions(log, bar.stage, bar.advance))
        if not training.is_first:
            return
        run.log_metrics({f"best.{name}": value for name, value in result.metrics.items()}, None)
        if name:
            bar.stage("registering the model", 0)
            if note := golden_note(fetch_local(to), index):
                notes.append(note)
            version = register_model(fetch_local(to), name, alias, run=run)
            result.details["registered"] = f"{name}@{alias}, version {version}"
        else:
            run.log_artifact(result.folder if neural else result.folder / "manifest.json")
    notes += read_manifest(result.folder).meta.get("notes", [])
    for note in notes:
        print_note(note)
    if as_json:
        print_json(
            {
                "folder": result.place,
                "metrics": result.metrics,
                "notes": notes,
                "details": result.details,
                "steps" if neural else "epochs": history,
            }
        )
        return
    print_table(f"{kind} in {result.place}", ["dev", "value"], [[k, v] for k, v in result.metrics.items()])
    for name, value in result.details.items():
        err.print(f"{name}: {shown(value)}", soft_wrap=True)


def shown(value: object) -> str:
    """A detail of a training as it is printed: seconds with one decimal, shares such as F1 with three.

    Example:
        >>> shown(130.34), shown(0.5657), shown("bf16")
        ('130.3', '0.566', 'bf16')
    """
    if not isinstance(value, float):
        return str(value)
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.3f}"


def _parse_registration(text: str | None, track: bool) -> tuple[str, str]:
    """The name and alias of ``--register``; both empty where the model is not registered."""
    if text is None:
        return "", ""
    name, at, alias = text.partition("@")
    if not name or (at and not alias):
        raise InputError(f"{text!r} is not of the form NAME[@ALIAS]", where="--register")
    if not track:
        raise InputError("a model is registered in MLflow", where="--register", hint="leave --no-track out")
    return name, alias or ALIAS


def _check_index(index: Path, name: str, to: str) -> None:
    """Refuse an index of golden queries before anything is trained."""
    from cocite.retrieval.index.versions import VersionedFolder

    if not name:
        raise InputError("goes with --register", where="--index")
    if "://" in to:
        raise InputError(
            "golden queries are kept in a folder of this machine",
            where="--index",
            hint="cocite model golden makes them of a local copy",
        )
    VersionedFolder(index).current()

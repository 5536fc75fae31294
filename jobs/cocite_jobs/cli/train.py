"""``cocite train``: a recipe, a corpus, a model folder."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack
from typing import Annotated, Any, Literal

import typer

from cocite.cli.console import JsonFlag, NoVerifyFlag, emit, err, stages, table, warn
from cocite.errors import InputError

app = typer.Typer(help="Train a model from a recipe.", add_completion=False)

ALIAS = "candidate"
"""What a registered model is called where nothing else is said."""
COUNTING = ("fusion", "final")
"""Kinds that weigh counts of the history before dev: without links they can be trained, and those counts are zero. The
other kinds that read links cannot (:meth:`cocite.training.periods.Periods.of`)."""


@app.command()
def train(
    recipe: Annotated[
        str, typer.Argument(help="Name of a shipped recipe (nnselect, hatten, ...) or a YAML file.")
    ],
    overrides: Annotated[list[str] | None, typer.Argument(help="key.path=value, any number.")] = None,
    corpus: Annotated[
        str, typer.Option("--corpus", help="Corpus store to train on: a path, or a URI (s3://, gs://, ...).")
    ] = "corpus",
    to: Annotated[
        str, typer.Option("--to", help="Model folder, a path or a URI; the artifact is a subfolder.")
    ] = "model",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an unfinished training; refused where there is none.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Throw an unfinished training away and start over.")
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
    register: Annotated[
        str | None,
        typer.Option("--register", metavar="NAME[@ALIAS]", help=f"Register in MLflow [alias: {ALIAS}]."),
    ] = None,
    track: Annotated[bool, typer.Option("--track/--no-track", help="Keep the run in MLflow.")] = True,
    json_: JsonFlag = False,
    _no_verify: NoVerifyFlag = False,
) -> None:
    """Train a model and write it into a model folder.

    A training that was stopped leaves checkpoints: --resume goes on from the last one, --fresh starts over.
    """
    from cocite.corpus.cold_history import cold_before
    from cocite.corpus.store import Corpus
    from cocite.manifests import read_manifest
    from cocite_jobs.storage.cache import fetch_local
    from cocite_jobs.training.progress import ProgressFunctions
    from cocite_jobs.training.recipes import load_recipe
    from cocite_jobs.training.registry import KINDS
    from cocite_jobs.training.train import open_session
    from cocite_jobs.training.types import LaunchOptions
    from cocite_mlflow.connection import TrackingSettings
    from cocite_mlflow.registration import register_model
    from cocite_mlflow.runs import start_run

    if resume and fresh:
        raise InputError("--resume and --fresh exclude each other", where="train")
    name, alias = _registered(register, track)
    settings: Any = load_recipe(recipe, overrides or [])
    kind, neural = str(settings.kind), KINDS[settings.kind].uses_engine
    store = Corpus.open(fetch_local(corpus))
    if kind in COUNTING:
        warn(cold_before(store, "dev"))
    start: Literal["new", "resume", "fresh"] = "resume" if resume else "fresh" if fresh else "new"
    manner = LaunchOptions(start, on, address, wait, verbose, corpus if "://" in corpus else None)
    params = {"recipe": recipe, **settings.model_dump(mode="json")}
    tags = {"corpus": store.version, "kind": kind}
    history: list[dict[str, float]] = []
    # Ended from outside, by a scheduler or a job's end, it still ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack:
        training = stack.enter_context(open_session(settings, store, to, manner))
        kept = TrackingSettings(enabled=track and training.is_first)
        run = stack.enter_context(
            start_run(
                kind, experiment="train", params=params, tags=tags, tracking=kept, resume=training.mlflow_run
            )
        )
        training.set_mlflow_run(run.id)
        bar = stack.enter_context(stages())

        def log(metrics: dict[str, float], step: int) -> None:
            history.append(metrics | ({"step": step} if neural else {}))
            run.log_metrics(metrics, step)
            if not json_:
                values = "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())
                err.print(
                    f"{'step' if neural else 'epoch'} {step}: {values}", highlight=False, soft_wrap=True
                )

        result = training.train(ProgressFunctions(log, bar.stage, bar.advance))
        if not training.is_first:
            return
        run.log_metrics({f"best.{name}": value for name, value in result.metrics.items()}, None)
        if name:
            bar.stage("registering the model", 0)
            version = register_model(fetch_local(to), name, alias, run=run)
            result.details["registered"] = f"{name}@{alias}, version {version}"
        else:
            run.log_artifact(result.folder if neural else result.folder / "manifest.json")
    notes = read_manifest(result.folder).meta.get("notes", [])
    for note in notes:
        err.print(note, highlight=False, soft_wrap=True)
    if json_:
        emit(
            {
                "folder": str(result.folder),
                "metrics": result.metrics,
                "notes": notes,
                "details": result.details,
                "steps" if neural else "epochs": history,
            }
        )
        return
    table(f"{kind} in {result.folder}", ["dev", "value"], [[k, v] for k, v in result.metrics.items()])
    err.print(
        "  ".join(f"{k}: {v:.1f}" if isinstance(v, float) else f"{k}: {v}" for k, v in result.details.items())
    )


def _registered(text: str | None, track: bool) -> tuple[str, str]:
    """Name and alias to register under; no name: not at all."""
    if text is None:
        return "", ""
    name, at, alias = text.partition("@")
    if not name or (at and not alias):
        raise InputError(f"{text!r} is not of the form NAME[@ALIAS]", where="--register")
    if not track:
        raise InputError("a model is registered in MLflow", where="--register", hint="leave --no-track out")
    return name, alias or ALIAS

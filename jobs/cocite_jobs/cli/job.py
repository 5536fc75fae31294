"""``cocite job``: submits trainings to a Ray cluster and follows them."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from cocite.cli.console import err, print_json, print_note, print_table
from cocite.cli.options import JsonOption, OverridesArgument
from cocite.errors import InputError
from cocite_jobs.cli.options import RegisterOption

if TYPE_CHECKING:
    from cocite_jobs.cluster.job_client import JobClient, JobInfo

app = typer.Typer(help="Train on a Ray cluster: submit, list, logs, stop.", add_completion=False)

Address = Annotated[
    str,
    typer.Option(
        "--address",
        envvar=["RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"],
        help="The cluster's dashboard, http://host:8265.",
    ),
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The job, as `cocite job list` names it.")]
LOCAL = "http://127.0.0.1:8265"


@app.command()
def submit(
    recipe: Annotated[
        str, typer.Argument(help="Name of a shipped recipe or a YAML file, which travels along.")
    ],
    overrides: OverridesArgument = None,
    corpus: Annotated[
        str,
        typer.Option("--corpus", help="Corpus store: a path on the cluster, or a URI (s3://, gs://, ...)."),
    ] = "",
    to: Annotated[str, typer.Option("--to", help="Model folder: a path on the cluster, or a URI.")] = "",
    address: Address = LOCAL,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="RECIPE is a sweep, and --to its folder, which all nodes see.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue what is unfinished.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard what is unfinished.")] = False,
    register: RegisterOption = None,
    track: Annotated[
        bool | None,
        typer.Option(
            "--track/--no-track", help="Keep the run in MLflow [default: where MLFLOW_TRACKING_URI is set]."
        ),
    ] = None,
    installed: Annotated[
        bool, typer.Option("--installed", help="The cluster has cocite: send the recipe alone.")
    ] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Do not wait for the end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a recipe on a cluster, or run a sweep; follow its log, and end with its exit code.

    Ctrl-C leaves the job running.
    """
    import os

    from cocite_jobs.cluster.job_client import JobClient
    from cocite_jobs.cluster.resources import check_batch, worker_range
    from cocite_jobs.training.recipes import load_recipe, recipe_path
    from cocite_jobs.training.registry import KINDS

    for option, location in (("--corpus", corpus), ("--to", to)):
        _check_location(option, location)
    if sweep:
        if register:
            raise InputError(
                "a sweep says itself what it registers",
                where="--register",
                hint="set champion",
            )
        _check_sweep(recipe, overrides or [], to)
        kind, file = "sweep", Path(recipe)
        shipped = not file.is_file()
    else:
        settings: Any = load_recipe(recipe, overrides or [])
        if KINDS[settings.kind].uses_engine and settings.workers.count:
            check_batch(settings, worker_range(settings.workers)[1])
        kind, file = str(getattr(settings, "kind", recipe)), recipe_path(recipe)
        shipped = recipe == file.stem and not Path(recipe).suffix
    name = recipe if shipped else file.name
    command = ["tune", "run"] if sweep else ["train"]
    arguments = [*command, name, *(overrides or []), "--corpus", corpus, "--to", to]
    arguments += ["--resume"] * resume + ["--fresh"] * fresh
    arguments += ["--register", register] if register else []
    arguments += [
        "--track" if track or (track is None and "MLFLOW_TRACKING_URI" in os.environ) else "--no-track"
    ]
    cluster = JobClient(address)
    id_ = cluster.submit(
        arguments, recipe=name, kind=kind, file=None if shipped else file, installed=installed
    )
    if detach:
        if as_json:
            print_json(cluster.job(id_))
        else:
            err.print(
                f"Job {id_} was submitted. Follow it: cocite job logs {id_} --follow --address {address}"
            )
        return
    err.print(f"Job {id_}")
    job = _follow(cluster, id_, sys.stderr if as_json else sys.stdout)
    if as_json:
        print_json(job)
    _print_end(job)


@app.command("list")
def list_(
    address: Address = LOCAL,
    everyone: Annotated[bool, typer.Option("--all", help="List jobs that are not cocite's, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the trainings of a cluster, the newest first."""
    from cocite_jobs.cluster.job_client import JobClient

    jobs = JobClient(address).list(everyone=everyone)
    if as_json:
        print_json(jobs)
        return
    rows: list[list[Any]] = [
        [job.id, job.recipe or job.command, job.status.lower(), _start_time(job), _duration(job)]
        for job in jobs
    ]
    print_table(f"Jobs at {address}", ["job", "recipe", "status", "started", "ran for"], rows)


@app.command()
def logs(
    id_: Id,
    address: Address = LOCAL,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print until the job ends.")] = False,
) -> None:
    """Print what a job has printed; with --follow until it ends, and end with its exit code."""
    from cocite_jobs.cluster.job_client import JobClient

    cluster = JobClient(address)
    if follow:
        _print_end(_follow(cluster, id_, sys.stdout))
    else:
        sys.stdout.write(cluster.log(id_))


@app.command()
def stop(id_: Id, address: Address = LOCAL, as_json: JsonOption = False) -> None:
    """Stop a job; its checkpoints stay, and --resume goes on from the last one."""
    from cocite_jobs.cluster.job_client import JobClient

    job = JobClient(address).stop(id_)
    if as_json:
        print_json(job)
    else:
        err.print(f"Job {job.id}: {job.status.lower()} after {_duration(job)}")


def _check_sweep(name: str, overrides: list[str], to: str) -> None:
    """Let ``cocite tune --check`` refuse a sweep before anything is sent: this package cannot import that one's."""
    from contextlib import redirect_stdout
    from io import StringIO

    from cocite.cli import root

    with redirect_stdout(StringIO()):
        root.main(
            args=["tune", "run", name, *overrides, "--to", to, "--check", "--json"], standalone_mode=False
        )


def _check_location(option: str, location: str) -> None:
    """Refuse a relative path: a job runs on another machine, in a folder that is removed when it ends."""
    if not location:
        raise InputError("is needed: a path on the cluster, or a URI", where=option)
    if not location.startswith("/") and "://" not in location:
        raise InputError(
            f"{location!r} is relative, and a job has no folder of its own",
            where=option,
            hint="give an absolute path on the cluster, or a URI",
        )


def _follow(cluster: JobClient, id_: str, to: TextIO) -> JobInfo:
    def write(text: str) -> None:
        to.write(text)
        to.flush()

    try:
        return cluster.follow(id_, write)
    except KeyboardInterrupt:
        print_note(
            f"\nThe job goes on. Follow it: cocite job logs {id_} --follow --address {cluster.address}   "
            f"Stop it: cocite job stop {id_} --address {cluster.address}"
        )
        raise typer.Exit(130) from None


def _print_end(job: JobInfo) -> None:
    why = f": {job.message}" if job.code and job.exit_code is None and job.message else ""
    print_note(f"Job {job.id} {job.status.lower()} after {_duration(job)}{why}")
    if job.code:
        raise typer.Exit(job.code)


def _start_time(job: JobInfo) -> str:
    return datetime.fromtimestamp(job.started).strftime("%Y-%m-%d %H:%M:%S") if job.started else "waiting"


def _duration(job: JobInfo) -> str:
    if job.seconds is None:
        return "no time"
    minutes, seconds = divmod(round(job.seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"

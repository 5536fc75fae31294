"""``cocite job``: runs commands as jobs on a Ray cluster and follows them."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from cocite.cli.console import print_json, print_table
from cocite.cli.options import JsonOption
from cocite_jobs.cli.job_output import (
    LOCAL,
    AddressOption,
    duration,
    follow,
    print_end,
    print_stop,
    start_time,
)
from cocite_jobs.cli.submit import app as submit_app

app = typer.Typer(help="Run commands on a Ray cluster: submit, list, logs, stop.", add_completion=False)
app.add_typer(submit_app, name="submit")

Id = Annotated[str, typer.Argument(metavar="ID", help="The job, as `cocite job list` names it.")]


@app.command("list")
def list_(
    address: AddressOption = LOCAL,
    everyone: Annotated[bool, typer.Option("--all", help="List jobs that are not cocite's, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the jobs of a cluster, the newest first."""
    from cocite_jobs.cluster.job_client import JobClient

    jobs = JobClient(address).list(everyone=everyone)
    if as_json:
        print_json(jobs)
        return
    rows: list[list[Any]] = [
        [job.id, job.kind, job.subject or job.command, job.status.lower(), start_time(job), duration(job)]
        for job in jobs
    ]
    print_table(f"Jobs at {address}", ["job", "command", "of", "status", "started", "ran for"], rows)


@app.command()
def logs(
    id_: Id,
    address: AddressOption = LOCAL,
    to_end: Annotated[
        bool, typer.Option("--follow", "-f", help="Print until the job ends, and end with its exit code.")
    ] = False,
) -> None:
    """Print what a job has printed."""
    from cocite_jobs.cluster.job_client import JobClient

    cluster = JobClient(address)
    if to_end:
        print_end(follow(cluster, id_, sys.stdout))
    else:
        sys.stdout.write(cluster.log(id_))


@app.command()
def stop(id_: Id, address: AddressOption = LOCAL, as_json: JsonOption = False) -> None:
    """Stop a job; the checkpoints of a training stay, and --resume goes on from the last one."""
    from cocite_jobs.cluster.job_client import JobClient

    job = JobClient(address).stop(id_)
    if as_json:
        print_json(job)
    else:
        print_stop(job)

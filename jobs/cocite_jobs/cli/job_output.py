"""Prints jobs: their log while they run, their end, and their times."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from cocite.cli.console import print_note

if TYPE_CHECKING:
    from cocite_jobs.cluster.job_client import JobClient, JobInfo

LOCAL = "http://127.0.0.1:8265"
AddressOption = Annotated[
    str,
    typer.Option(
        "--address",
        envvar=["RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"],
        help="The cluster's dashboard, http://host:8265.",
    ),
]


def follow(cluster: JobClient, id_: str, to: TextIO) -> JobInfo:
    """Write a job's log until it ends. Ctrl-C ends this process alone, and the job goes on."""

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


def print_end(job: JobInfo) -> None:
    """Print how a job ended; end this process with the job's exit code where that is not 0."""
    why = f": {job.message}" if job.code and job.exit_code is None and job.message else ""
    print_note(f"Job {job.id} {job.status.lower()} after {duration(job)}{why}")
    if job.code:
        raise typer.Exit(job.code)


def print_stop(job: JobInfo) -> None:
    """Print that a job was stopped, or that it will be."""
    if not job.ended:
        print_note(
            f"Job {job.id} waits for a node: Ray stops it when it has one, or gives it up after a while"
        )
        return
    print_note(f"Job {job.id}: {job.status.lower()} after {duration(job)}")


def start_time(job: JobInfo) -> str:
    """When a job began, in this machine's time zone."""
    return datetime.fromtimestamp(job.started).strftime("%Y-%m-%d %H:%M:%S") if job.started else "waiting"


def duration(job: JobInfo) -> str:
    """How long a job has run."""
    if job.seconds is None:
        return "no time"
    minutes, seconds = divmod(round(job.seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def log_stream(as_json: bool) -> TextIO:
    """Where a log is written: standard error, where standard output is for a JSON document."""
    return sys.stderr if as_json else sys.stdout

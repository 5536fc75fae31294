from __future__ import annotations

import sys

import pytest
import typer

from cocite_jobs.cli.job_output import duration, log_stream, print_end, print_stop, start_time
from cocite_jobs.cluster.job_client import JobInfo


def job(status: str, seconds: float | None, code: int | None = None) -> JobInfo:
    return JobInfo("ours", status, "train", "hatten", "c", "no node", None, seconds, code)


def test_the_end_of_a_job_is_one_line_and_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    print_end(job("SUCCEEDED", 75.2, 0))
    with pytest.raises(typer.Exit, match="3") as ended:
        print_end(job("FAILED", 2, 3))
    assert ended.value.exit_code == 3
    with pytest.raises(typer.Exit, match="1"):
        print_end(job("FAILED", None))
    print_stop(job("STOPPED", 9))
    print_stop(job("PENDING", None))
    assert capsys.readouterr().err.splitlines() == [
        "Job ours succeeded after 1 min 15 s",
        "Job ours failed after 2 s",
        "Job ours failed after no time: no node",
        "Job ours: stopped after 9 s",
        "Job ours waits for a node: Ray stops it when it has one, or gives it up after a while",
    ]


def test_times_and_streams() -> None:
    assert duration(job("RUNNING", 60)) == "1 min 0 s"
    assert start_time(job("PENDING", None)) == "waiting"
    assert log_stream(as_json=True) is sys.stderr

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.command_line import call

from cocite_jobs.cli import submit
from cocite_jobs.cluster.job_request import JobRequest


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[JobRequest]:
    """What would be submitted by command lines that are called in an empty working directory."""
    made: list[JobRequest] = []
    real = submit.make_request

    def make(*arguments: object) -> JobRequest:
        made.append(real(*arguments))  # type: ignore[arg-type]
        raise SystemExit(0)

    monkeypatch.setattr(submit, "make_request", make)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return made


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        (
            "nnselect training.epochs=3 --corpus /c --to s3://b/m?a=b --register a@b",
            "train nnselect training.epochs=3 --corpus /c --to s3://b/m?a=b --register a@b --no-track",
        ),
        (
            "train hatten --corpus /c --to /m --accelerator H100 --wait --resume --track",
            "train hatten workers.accelerator=H100 --corpus /c --to /m --resume --no-track --wait",
        ),
        (
            "rank --queries gs://b/q --to /r --index /i --rerank 0 --tag=-x --on ray",
            "rank --queries gs://b/q --to /r --index /i --rerank 0 --tag=-x --on ray",
        ),
        (
            "index /c --to /i --bm25 text.k1=2 --bm25 text.b=.1 --shards 2 --driver-cpus 4",
            "index build /c --to /i --bm25 text.k1=2 --bm25 text.b=.1 --shards 2",
        ),
        (
            "index s3://b/c --to s3://b/i --model s3://b/m --shards 8 --on ray --workers 4 --cpus 2",
            "index build s3://b/c --to s3://b/i --model s3://b/m --shards 8 --on ray --workers 4 --cpus 2.0",
        ),
        (
            "import /records --to /c --no-links-from-contexts --strict",
            "corpus import /records --to /c --strict --no-links-from-contexts --on ray",
        ),
        (
            "embed s3://b/c --model s3://b/m --to s3://b/v --accelerator H100 --wait",
            "embed s3://b/c --model s3://b/m --to s3://b/v --on ray --wait --accelerator H100",
        ),
        (
            "rank --queries /q --to /r --index /i --model /m --on ray --workers 2 --gpus .5 --accelerator H100",
            "rank --queries /q --to /r --index /i --model /m --on ray --workers 2 --gpus 0.5 --accelerator H100",
        ),
        (
            "evaluate pipeline --corpus /c --index /i --to /r --on ray --workers 2 --cpus 2 --accelerator H100",
            "evaluate pipeline --corpus /c --index /i --to /r --on ray --workers 2 --cpus 2.0 --no-track "
            "--accelerator H100",
        ),
        (
            "rank --queries /q --to /r --index /i --on ray --accelerator H100",
            "rank --queries /q --to /r --index /i --on ray",
        ),
        (
            "index /c --to /i --shards 4 --on ray --accelerator H100",
            "index build /c --to /i --shards 4 --on ray --accelerator H100",
        ),
        ("index /c --to /i --wait", "index build /c --to /i"),
        ("index /c --to /i --shards 4 --on ray --wait", "index build /c --to /i --shards 4 --on ray --wait"),
        ("evaluate run /r --qrels /q --k 3", ""),
        ("evaluate run /r --qrels s3://b/q", "evaluate run /r --qrels s3://b/q"),
    ],
)
def test_a_command_line_is_the_one_that_was_typed(
    line: str, arguments: str, requests: list[JobRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, _ = call(capsys, "job", "submit", *line.split())
    assert code == (0 if arguments else 2)
    assert [" ".join(request.arguments) for request in requests] == [arguments] * bool(arguments)


def test_files_of_relative_paths_travel(
    requests: list[JobRequest], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "queries.jsonl").write_text("")
    call(capsys, "job", "submit", "rank", "--queries", "inner/queries.jsonl", "--to", "/r", "--index", "/i")
    [request] = requests
    assert request.arguments[:3] == ["rank", "--queries", "queries.jsonl"]
    assert [path.name for path in request.files] == ["queries.jsonl"]
    assert (request.kind, request.subject) == ("rank", "queries.jsonl")


def test_who_does_the_work_reserves_a_cpu_and_the_accelerator(
    requests: list[JobRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    for line in (
        "nnselect --corpus /c --to /m --accelerator H100",
        "hatten --corpus /c --to /m --accelerator H100",
        "embed s3://b/c --model s3://b/m --to s3://b/v --accelerator H100",
        "index /c --to /i --accelerator H100",
    ):
        call(capsys, "job", "submit", *line.split())
    alone, with_workers, with_tasks, index = (request.driver for request in requests)
    assert index == alone
    assert (with_tasks.cpus, with_tasks.gpus, with_tasks.others) == (0.01, 0, {})
    assert (alone.cpus, alone.gpus, alone.others) == (1, 1, {"accelerator_type:H100": 0.001})
    assert (with_workers.cpus, with_workers.gpus, with_workers.others) == (0.01, 0, {})


def test_a_command_that_computes_itself_reserves_the_gpus_that_it_is_told_of(
    requests: list[JobRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    train = "nnselect --corpus /c --to /m"
    for line in (
        train,
        f"{train} workers.gpus=.5",
        f"{train} workers.gpus=.5 --driver-gpus 2",
        f"{train} --accelerator H100 --driver-gpus .25",
        "hatten workers.gpus=1 --corpus /c --to /m",
    ):
        call(capsys, "job", "submit", *line.split())
    assert [request.driver.gpus for request in requests] == [0, 0.5, 2, 0.25, 0]


def test_a_command_for_which_ray_only_searches_shards_reserves_a_cpu(
    requests: list[JobRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    for line in (
        "fusion index=s3://b/i --corpus s3://b/c --to s3://b/m --on ray",
        "rank --queries s3://b/q --to s3://b/r --index s3://b/i --on ray",
        "rank --queries s3://b/q --to s3://b/r --index s3://b/i --on ray --workers 2",
    ):
        call(capsys, "job", "submit", *line.split())
    assert [request.driver.cpus for request in requests] == [1, 1, 0.01]

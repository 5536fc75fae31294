"""The client of a cluster, against a stand-in for Ray's own client; tests/integration/test_jobs.py starts a cluster."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from cocite.errors import CociteError, InputError, NotFoundError
from cocite_jobs.cluster import job_client
from cocite_jobs.cluster.job_client import JobClient, JobInfo, use_token
from cocite_jobs.cluster.job_request import JobRequest

LOG = "one\ntwo\nthree\nfour\n"


@dataclass
class Details:
    """What Ray's client says of a job."""

    submission_id: str | None
    status: str
    metadata: dict[str, str] = field(default_factory=dict)
    entrypoint: str = "python -m cocite train hatten"
    message: str | None = None
    start_time: int | None = 2_000
    end_time: int | None = 5_000
    driver_exit_code: int | None = None
    runtime_env: dict[str, Any] | None = None


class FakeRay:
    """Stands in for ``ray.job_submission.JobSubmissionClient``.

    Attributes:
        statuses: of the job ``ours``, one for each request.
        cuts: lengths of the log at which a connection breaks off.
        failures: raised by the next requests, one each.
    """

    def __init__(self) -> None:
        self.statuses = ["RUNNING", "RUNNING", "SUCCEEDED"]
        self.cuts: list[int] = []
        self.failures: list[Exception] = []
        self.submitted: list[dict[str, Any]] = []
        self.stopped: list[str] = []
        self.refusal = ""

    def get_job_info(self, id_: str) -> Details:
        if self.failures:
            raise self.failures.pop(0)
        if id_ != "ours":
            raise RuntimeError(f"Request failed with status code 404: Job {id_} does not exist")
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return Details("ours", status, {"cocite.kind": "train"})

    def list_jobs(self) -> list[Details]:
        return [
            Details("ours", "RUNNING", {"cocite.kind": "train"}, start_time=1_000),
            Details("newer", "PENDING", {"cocite.kind": "train"}, start_time=None),
            Details("theirs", "RUNNING"),
            Details(None, "RUNNING"),  # a driver that is no submitted job
        ]

    def get_job_logs(self, id_: str) -> str:
        return LOG

    async def tail_job_logs(self, id_: str) -> AsyncIterator[str]:
        end = self.cuts.pop(0) if self.cuts else None
        for start in range(0, len(LOG[:end]), 5):
            yield LOG[:end][start : start + 5]
        if end is not None:
            raise ConnectionError("cut by a proxy")

    def submit_job(self, **arguments: Any) -> str:
        if self.refusal:
            raise RuntimeError(self.refusal)
        directory = arguments["runtime_env"].get("working_dir")
        files = sorted(path.name for path in Path(directory).iterdir()) if directory else []
        self.submitted.append(arguments | {"files": files})
        return "ours"

    def stop_job(self, id_: str) -> None:
        self.stopped.append(id_)
        self.statuses = ["RUNNING", "STOPPED"]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    fake = FakeRay()
    monkeypatch.setattr("ray.job_submission.JobSubmissionClient", lambda address: fake)
    monkeypatch.setattr(requests, "get", lambda *_, **__: None)
    monkeypatch.setattr(job_client, "POLL_S", 0.001)
    return fake


@pytest.fixture
def client(ray: FakeRay) -> JobClient:
    return JobClient("http://head:8265/")


def test_a_log_is_passed_on_once_however_often_the_connection_is_cut(ray: FakeRay, client: JobClient) -> None:
    ray.cuts = [7, 3, 12, 12]
    parts: list[str] = []
    assert client.follow("ours", parts.append).status == "SUCCEEDED"
    assert "".join(parts) == LOG
    assert client.log("ours") == LOG


def test_a_log_that_stays_cut_ends_in_an_error(
    ray: FakeRay, client: JobClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_client, "LOST_S", 0.05)
    ray.cuts = [4] * 100_000
    with pytest.raises(CociteError, match=r"^http://head:8265: the log broke off: cut by a proxy$"):
        client.follow("ours", lambda _: None)


def test_a_cluster_that_does_not_answer_for_a_while_is_asked_again(ray: FakeRay, client: JobClient) -> None:
    parts: list[str] = []
    job = client.job("ours")
    ray.failures = [RuntimeError("busy"), requests.exceptions.ConnectionError("gone")]
    assert client._again(job.id).id == "ours"
    assert client.follow("ours", parts.append).code == 0
    ray.failures = [requests.exceptions.ConnectionError("gone")]
    with pytest.raises(CociteError, match="no Ray cluster answers there"):
        client.job("ours")


def test_cocites_jobs_are_listed_the_newest_first(client: JobClient) -> None:
    assert [job.id for job in client.list()] == ["newer", "ours"]
    assert {job.id for job in client.list(everyone=True)} == {"ours", "newer", "theirs"}
    with pytest.raises(NotFoundError, match=r"no job 'our' .*did you mean 'ours'"):
        client.job("our")


def test_a_job_is_submitted_with_its_files_its_environment_and_what_it_reserves(
    ray: FakeRay, client: JobClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow")
    (tmp_path / "our recipe.yaml").write_text("kind: hatten\n")
    arguments = ["train", "our recipe.yaml", "--to", "/model"]
    files = [tmp_path / "our recipe.yaml"]
    request = JobRequest(arguments, "train", "our recipe.yaml", files, installed=True, name="ours")
    assert client.submit(request) == "ours"
    [submitted] = ray.submitted
    command = "CUDA_VISIBLE_DEVICES= python -m cocite train 'our recipe.yaml' --to /model"
    assert submitted["entrypoint"] == command
    assert submitted["metadata"] == {"cocite.subject": "our recipe.yaml", "cocite.kind": "train"}
    assert submitted["files"] == ["our recipe.yaml"]
    assert submitted["submission_id"] == "ours"
    assert submitted["entrypoint_num_cpus"] == 1
    assert submitted["runtime_env"]["env_vars"]["MLFLOW_TRACKING_URI"] == "http://mlflow"
    client.submit(JobRequest(["train", "hatten"], "train", "hatten", installed=True))
    assert "working_dir" not in ray.submitted[1]["runtime_env"]
    assert ray.submitted[1]["submission_id"] is None


def test_values_of_the_environment_are_in_no_error_and_no_message(ray: FakeRay, client: JobClient) -> None:
    request = JobRequest(["train"], "train", "x", installed=True, environment={"KEY": "s3cret"})
    assert "s3cret" not in repr(request)
    ray.refusal = "runtime_env {'env_vars': {'KEY': 's3cret'}} is too long"
    with pytest.raises(CociteError, match=r"the cluster refused: .*'KEY': '\*\*\*'"):
        client.submit(request)
    job = job_client._job(
        Details(
            "a",
            "FAILED",
            request.metadata(),
            message="no s3cret",
            runtime_env=request.runtime_environment(None),
        )
    )
    assert job.message == "no ***"


def test_a_stopped_job_is_waited_for_and_one_that_has_ended_is_not_stopped(
    ray: FakeRay, client: JobClient
) -> None:
    assert client.stop("ours").code == 130
    assert ray.stopped == ["ours"]
    with pytest.raises(InputError, match=r"job 'ours' has already ended: stopped"):
        client.stop("ours")


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (requests.exceptions.ConnectTimeout("late"), "no Ray cluster answers there"),
        (RuntimeError("Version mismatch\nmore"), "the cluster refused: Version mismatch"),
        (RuntimeError(""), "the cluster refused: RuntimeError"),
        (
            RuntimeError(
                "status code 500: Traceback (most recent call last):\n  in f\nValueError: a exists already."
            ),
            "the cluster refused: a exists already$",
        ),
    ],
)
def test_errors_of_requests_are_one_sentence(
    ray: FakeRay, client: JobClient, failure: Exception, sentence: str
) -> None:
    ray.failures = [failure]
    with pytest.raises(CociteError, match=f"^http://head:8265: {sentence}"):
        client.job("ours")


def test_a_token_is_sent_where_there_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        # Set first: what was absent and is deleted is not put right at the test's end, nor what use_token() sets.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    use_token()
    assert "RAY_AUTH_MODE" not in os.environ
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("x")
    use_token()
    assert os.environ["RAY_AUTH_MODE"] == "token"
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    use_token()
    assert os.environ["RAY_AUTH_MODE"] == "disabled"


@pytest.mark.parametrize(
    ("status", "exit_code", "code"),
    [("SUCCEEDED", 0, 0), ("FAILED", 3, 3), ("FAILED", None, 1), ("FAILED", 0, 1), ("STOPPED", None, 130)],
)
def test_a_jobs_end_has_an_exit_code(status: str, exit_code: int | None, code: int) -> None:
    assert JobInfo("id", status, "train", "r", "c", "", None, None, exit_code).code == code

"""A client for jobs on a Ray cluster: it submits command lines of cocite, and follows, lists and stops their jobs.

A job (:class:`~cocite_jobs.cluster.job_request.JobRequest`) is sent with a small working directory. It brings no data:
those are where the cluster reads them.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.errors import CociteError, InputError, NotFoundError, nearest
from cocite_jobs.cluster.job_request import KIND_KEY, SUBJECT_KEY, JobRequest, mask_values
from cocite_jobs.cluster.working_directory import pack_working_directory

ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
"""Statuses that a job keeps."""
POLL_S = 1.0
"""Seconds between two requests for a job's status."""
PENDING_S = 10
"""Seconds for which a job that was stopped before it began is waited for."""
CONNECT_S = 10
"""Seconds within which a cluster must answer the first request."""
LOST_S = 120
"""Seconds for which requests are repeated to a cluster that answered before."""


@dataclass(frozen=True)
class JobInfo:
    """The state of a job on the cluster.

    Attributes:
        id: by which the cluster knows it.
        status: PENDING, RUNNING, SUCCEEDED, FAILED or STOPPED.
        kind: the command that it runs, such as ``train``; empty for a job that is not cocite's.
        subject: what the command works on: a recipe, a sweep, a corpus, a file.
        command: what the cluster runs.
        message: the cluster's explanation of the status.
        started: seconds since the epoch; ``None`` before it began.
        seconds: how long it has run.
        exit_code: of the command, once it ended by itself.

    Example:
        >>> job = JobInfo("raysubmit_1", "FAILED", "train", "hatten", "python -m cocite train hatten", "", 0.0, 9.5, 3)
        >>> job.ended, job.code
        (True, 3)
    """

    id: str
    status: str
    kind: str
    subject: str
    command: str
    message: str
    started: float | None
    seconds: float | None
    exit_code: int | None

    @property
    def ended(self) -> bool:
        """Whether its status is final."""
        return self.status in ENDED

    @property
    def code(self) -> int:
        """The exit code for this process: the command's own, 130 when it was stopped, 1 when it never ran."""
        if self.status == "SUCCEEDED":
            return 0
        if self.status == "STOPPED":
            return 130
        return self.exit_code or 1


def use_token() -> None:
    """Let Ray send the user's token where there is one; Ray's client sends none by default, and would be refused."""
    is_named = any(name in os.environ for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if "RAY_AUTH_MODE" not in os.environ and (is_named or (Path.home() / ".ray" / "auth_token").is_file()):
        os.environ["RAY_AUTH_MODE"] = "token"


class JobClient:
    """A client of one Ray cluster.

    Args:
        address: of the cluster's dashboard, ``http://host:8265``.

    Raises:
        InputError: it is no such address.
        CociteError: no cluster answers there, or it asks for a token.

    Example:
        >>> try:
        ...     JobClient("head:8265").list()
        ... except InputError as error:
        ...     print(error.message)
        'head:8265' is not the address of a cluster's dashboard
    """

    def __init__(self, address: str) -> None:
        if not address.startswith(("http://", "https://")):
            raise InputError(
                f"{address!r} is not the address of a cluster's dashboard",
                where="--address",
                hint="such as http://127.0.0.1:8265",
            )
        self.address = address.rstrip("/")
        use_token()
        import requests
        from ray.job_submission import JobSubmissionClient

        with _translate_errors(self.address), _only_address(self.address):
            # Ray's client would wait for a silent host as long as the system does: two minutes and more.
            requests.get(f"{self.address}/api/version", timeout=(CONNECT_S, None))
            self._client = JobSubmissionClient(self.address)

    def submit(self, request: JobRequest) -> str:
        """Submit a job; returns the id by which the cluster knows it.

        Raises:
            InputError: files that travel with it are too large.
            CociteError: the cluster refuses it, or has a job of its name.
        """
        with tempfile.TemporaryDirectory(prefix="cocite-job-") as folder:
            directory = Path(folder)
            travels = pack_working_directory(directory, files=request.files, installed=request.installed)
            runtime = request.runtime_environment(directory if travels else None)
            metadata = request.metadata()
            try:
                with _translate_errors(self.address):
                    return str(
                        self._client.submit_job(
                            entrypoint=request.entrypoint,
                            submission_id=request.name or None,
                            runtime_env=runtime,
                            metadata=metadata,
                            **request.driver.options(),
                        )
                    )
            except CociteError as error:
                # Ray repeats the runtime environment in some of its errors.
                error.message = mask_values(error.message, metadata, runtime)
                raise

    def nodes(self) -> list[dict[str, float]] | None:
        """The resources of each living node, by Ray's names; None: this cluster does not list them."""
        with _translate_errors(self.address):
            answer = self._client._do_request("GET", "/api/v0/nodes?limit=10000")
            if answer.status_code != 200:
                return None
            nodes = answer.json()["data"]["result"]["result"]
        return [dict(node["resources_total"]) for node in nodes if node["state"] == "ALIVE"]

    def job(self, id_: str) -> JobInfo:
        """The state of one job.

        Raises:
            NotFoundError: the cluster knows no such job.
        """
        with _translate_errors(self.address):
            try:
                return _job(self._client.get_job_info(id_))
            except RuntimeError as error:
                if "404" not in str(error) and "does not exist" not in str(error):
                    raise
        known = [job.id for job in self.list(everyone=True)]
        raise NotFoundError(f"no job {id_!r}", where=self.address, hint=nearest(id_, known))

    def list(self, *, everyone: bool = False) -> list[JobInfo]:
        """cocite's jobs, the newest first; with ``everyone``, all others too."""
        with _translate_errors(self.address):
            jobs = [_job(details) for details in self._client.list_jobs() if details.submission_id]
        listed = [job for job in jobs if job.kind or everyone]
        # A job that has no start yet is pending, and so the newest.
        return sorted(listed, key=lambda job: -(job.started or time.time()))

    def log(self, id_: str) -> str:
        """The output of a job so far."""
        self.job(id_)
        with _translate_errors(self.address):
            return str(self._client.get_job_logs(id_))

    def follow(self, id_: str, write: Callable[[str], None]) -> JobInfo:
        """Pass the output of a job to ``write``, from its first line, until it ends; returns its final state."""
        job, written = self.job(id_), 0
        while True:
            if job.status != "PENDING":
                written = asyncio.run(self._tail(id_, write, written))
            job = self._again(id_)
            if job.ended:
                return job
            time.sleep(POLL_S)

    def _again(self, id_: str) -> JobInfo:
        """The state of a job that existed before; the request is repeated while the cluster does not answer."""
        began = time.monotonic()
        while True:
            try:
                return self.job(id_)
            # An answer, which a repeated request would only get again.
            except NotFoundError:
                raise
            except CociteError:
                if time.monotonic() - began > LOST_S:
                    raise
                time.sleep(POLL_S)

    def stop(self, id_: str) -> JobInfo:
        """Stop a job, and wait until it has ended; returns its final state.

        A job that waits for a node does not end before it has one, or Ray gives it up: it is returned as it is.

        Raises:
            InputError: it had ended already.
        """
        job = self.job(id_)
        if job.ended:
            raise InputError(f"job {id_!r} has already ended: {job.status.lower()}", where=self.address)
        with _translate_errors(self.address):
            self._client.stop_job(id_)
        began = time.monotonic()
        while not (job := self._again(id_)).ended:
            if job.status == "PENDING" and time.monotonic() - began > PENDING_S:
                return job
            time.sleep(POLL_S)
        return job

    async def _tail(self, id_: str, write: Callable[[str], None], written: int) -> int:
        """Pass the log after ``written`` characters to ``write``; returns the log's length.

        A proxy may cut a connection at any time, so another one is opened until the log has ended.
        """
        lost: float | None = None
        while True:
            position = 0
            try:
                stream: AsyncIterator[str] = self._client.tail_job_logs(id_)
                async for text in stream:
                    # Each connection starts at the first line, of which the caller has ``written`` characters.
                    new = text[max(0, written - position) :]
                    position += len(text)
                    if new:
                        write(new)
                        written, lost = position, None
                return written
            except Exception as error:
                lost = lost or time.monotonic()
                if time.monotonic() - lost > LOST_S:
                    raise CociteError(f"the log broke off: {_line(error)}", where=self.address) from error
                await asyncio.sleep(POLL_S)


def _job(details: Any) -> JobInfo:
    """The state of a job from the details that Ray's client returns."""
    metadata: Mapping[str, str] = details.metadata or {}
    status = getattr(details.status, "value", details.status)
    started = details.start_time / 1000 if details.start_time else None
    ended = details.end_time / 1000 if details.end_time else time.time()
    return JobInfo(
        id=str(details.submission_id),
        status=str(status),
        kind=metadata.get(KIND_KEY, ""),
        subject=metadata.get(SUBJECT_KEY, ""),
        command=str(details.entrypoint),
        message=mask_values(str(details.message or ""), metadata, details.runtime_env or {}),
        started=started,
        seconds=max(0.0, ended - started) if started else None,
        exit_code=details.driver_exit_code,
    )


def _line(error: BaseException) -> str:
    """The first line of an error, of a traceback that the cluster sent the reason; its class where it has no text."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if lines[0].endswith("Traceback (most recent call last):"):
        reasons = [line.partition("Error: ")[2] for line in lines if "Error: " in line]
        return reasons[-1].rstrip(".") if reasons else lines[0]
    return lines[0]


@contextmanager
def _only_address(address: str) -> Iterator[None]:
    """Make Ray's client use this address: one in the environment would take precedence over the client's argument."""
    name = "RAY_API_SERVER_ADDRESS"
    before = os.environ.get(name)
    os.environ[name] = address
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def _translate_errors(address: str) -> Iterator[None]:
    """Raise errors of a request to a cluster as a :class:`~cocite.errors.CociteError` of one sentence."""
    import requests
    from ray.exceptions import AuthenticationError

    try:
        yield
    except (ConnectionError, requests.exceptions.RequestException) as error:
        raise CociteError(
            "no Ray cluster answers there",
            where=address,
            hint="is the dashboard up, and --address right?",
        ) from error
    except AuthenticationError as error:
        raise CociteError(
            "the cluster asks for a token that was not shown",
            where=address,
            hint="put the cluster's token into ~/.ray/auth_token, or set RAY_AUTH_TOKEN",
        ) from error
    except RuntimeError as error:
        raise CociteError(f"the cluster refused: {_line(error)}", where=address) from error

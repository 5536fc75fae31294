"""Jobs on a Ray cluster: a recipe is sent there, trained there, and its log followed from here.

What travels is a small working directory: cocite's own packages and, when the recipe is a file, that file. No data, no
environment: a cluster brings its Python packages, a corpus and a place for the model.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.errors import CociteError, InputError, NotFoundError, nearest

PACKAGES = ("cocite", "cocite_mlflow", "cocite_jobs", "cocite_tuning", "cocite_serve")
RECIPE_KEY, KIND_KEY = "cocite.recipe", "cocite.kind"
"""Metadata that tells cocite's jobs from others on the same cluster."""
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
POLL_S = 1.0
CONNECT_S = 10
"""Seconds for a cluster to answer at first."""
LOST_S = 120
"""Seconds for which a cluster that answered before is asked again."""


@dataclass(frozen=True)
class JobInfo:
    """A job as the cluster knows it.

    Attributes:
        id: the name it is asked for by.
        status: PENDING, RUNNING, SUCCEEDED, FAILED or STOPPED.
        recipe: what it trains; empty for a job that is not cocite's.
        command: what the cluster runs.
        message: the cluster's words on the status.
        started: seconds since the epoch; ``None`` before it began.
        seconds: how long it has run.
        exit_code: of the command, once it ended by itself.
    """

    id: str
    status: str
    recipe: str
    command: str
    message: str
    started: float | None
    seconds: float | None
    exit_code: int | None

    @property
    def ended(self) -> bool:
        """Whether it will not change any more."""
        return self.status in ENDED

    @property
    def code(self) -> int:
        """The exit code to pass on: the command's own, 130 when it was stopped, 1 when it never ran."""
        if self.status == "SUCCEEDED":
            return 0
        if self.status == "STOPPED":
            return 130
        return self.exit_code or 1


def use_token() -> None:
    """Let Ray show its token where there is one; without this it asks for jobs without, and is refused."""
    given = any(name in os.environ for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if "RAY_AUTH_MODE" not in os.environ and (given or (Path.home() / ".ray" / "auth_token").is_file()):
        os.environ["RAY_AUTH_MODE"] = "token"


class JobClient:
    """The jobs of one Ray cluster.

    Args:
        address: of the cluster's dashboard, ``http://host:8265``.

    Raises:
        InputError: it is no such address.
        CociteError: nobody answers there, or not to us.
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

    def submit(
        self, arguments: Sequence[str], *, recipe: str, kind: str, file: Path | None, installed: bool
    ) -> str:
        """Send ``cocite ARGUMENTS``; returns the job's id.

        Args:
            arguments: of the command line; a recipe file is named by its name alone.
            recipe: told by :meth:`list`.
            kind: the recipe's kind.
            file: a recipe file that travels with the job.
            installed: the cluster has cocite installed: send no packages.
        """
        environment = {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONUNBUFFERED": "1"}
        for name in ("MLFLOW_TRACKING_URI", "HF_HUB_OFFLINE"):
            if name in os.environ:
                environment[name] = os.environ[name]
        runtime: dict[str, Any] = {"env_vars": environment}
        with tempfile.TemporaryDirectory(prefix="cocite-job-") as staged, _translate_errors(self.address):
            if pack(Path(staged), file=file, installed=installed):
                runtime["working_dir"] = staged
            return str(
                self._client.submit_job(
                    entrypoint=f"python -m cocite {shlex.join(arguments)}",
                    runtime_env=runtime,
                    metadata={RECIPE_KEY: recipe, KIND_KEY: kind},
                )
            )

    def job(self, id_: str) -> JobInfo:
        """One job.

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
        """cocite's jobs, the newest first; with ``everyone`` other people's jobs too."""
        with _translate_errors(self.address):
            found = [_job(details) for details in self._client.list_jobs() if details.submission_id]
        jobs = [job for job in found if job.recipe or everyone]
        return sorted(jobs, key=lambda job: -(job.started or time.time()))

    def log(self, id_: str) -> str:
        """What a job has printed."""
        self.job(id_)
        with _translate_errors(self.address):
            return str(self._client.get_job_logs(id_))

    def follow(self, id_: str, write: Callable[[str], None]) -> JobInfo:
        """Hand on what a job prints, from its first line, until it ends; returns how it ended."""
        job, written = self.job(id_), 0
        while True:
            if job.status != "PENDING":
                written = asyncio.run(self._tail(id_, write, written))
            job = self._again(id_)
            if job.ended:
                return job
            time.sleep(POLL_S)

    def _again(self, id_: str) -> JobInfo:
        """A job that was there before; a cluster that does not answer is asked for a while."""
        began = time.monotonic()
        while True:
            try:
                return self.job(id_)
            except NotFoundError:
                raise
            except CociteError:
                if time.monotonic() - began > LOST_S:
                    raise
                time.sleep(POLL_S)

    def stop(self, id_: str) -> JobInfo:
        """Stop a job; returns it once it has ended.

        Raises:
            InputError: it ended before.
        """
        job = self.job(id_)
        if job.ended:
            raise InputError(f"job {id_!r} has already ended: {job.status.lower()}", where=self.address)
        with _translate_errors(self.address):
            self._client.stop_job(id_)
        while not (job := self._again(id_)).ended:
            time.sleep(POLL_S)
        return job

    async def _tail(self, id_: str, write: Callable[[str], None], written: int) -> int:
        """Hand on the log after ``written`` characters, over one connection after another: a proxy may cut any."""
        lost: float | None = None
        while True:
            position = 0
            try:
                stream: AsyncIterator[str] = self._client.tail_job_logs(id_)
                async for text in stream:
                    # A connection starts at the first line, however much of it is here already.
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


def pack(folder: Path, *, file: Path | None, installed: bool) -> bool:
    """Fill a job's working directory; returns whether there is anything in it.

    Args:
        folder: empty.
        file: a recipe file to take along.
        installed: leave cocite's packages out.
    """
    if not installed:
        for package in PACKAGES:
            spec = importlib.util.find_spec(package)
            if spec is not None and spec.origin is not None:
                ignore = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
                shutil.copytree(Path(spec.origin).parent, folder / package, ignore=ignore)
    if file is not None:
        shutil.copyfile(file, folder / file.name)
    return any(folder.iterdir())


def _job(details: Any) -> JobInfo:
    metadata: Mapping[str, str] = details.metadata or {}
    status = getattr(details.status, "value", details.status)
    started = details.start_time / 1000 if details.start_time else None
    ended = details.end_time / 1000 if details.end_time else time.time()
    return JobInfo(
        id=str(details.submission_id),
        status=str(status),
        recipe=metadata.get(RECIPE_KEY, ""),
        command=str(details.entrypoint),
        message=str(details.message or ""),
        started=started,
        seconds=max(0.0, ended - started) if started else None,
        exit_code=details.driver_exit_code,
    )


def _line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def _only_address(address: str) -> Iterator[None]:
    """Ray takes an address from the environment over the one it is given: here the given one counts."""
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
    """What can go wrong between here and a cluster, in a sentence."""
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

"""The steps of ``cocite demo`` that are not command lines: a split, a query, and the endpoint as a process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cocite.corpus.records import SPLITS, PaperRecord
from cocite.corpus.starter.drafts import starter_drafts
from cocite.corpus.store import KIND, Corpus
from cocite.errors import CociteError, InputError
from cocite.manifests import MANIFEST, read_manifest

STARTUP_SECONDS = 600
"""How long the endpoint may take until its stages are loaded."""


@dataclass(frozen=True)
class DemoFolders:
    """The folders that the demo makes.

    Attributes:
        corpus: the corpus store, unless the user named one.
        model: model folder.
        index: index folder.
        report: runs and reports, a folder for each task.
        drafts: drafts to try, where the corpus is the starter corpus.

    Example:
        >>> DemoFolders.under(Path("demo")).index
        PosixPath('demo/index')
    """

    corpus: Path
    model: Path
    index: Path
    report: Path
    drafts: Path

    @classmethod
    def under(cls, root: Path) -> DemoFolders:
        """The folders below another."""
        return cls(root / "corpus", root / "model", root / "index", root / "evaluation", root / "drafts")


def copy_drafts(folders: DemoFolders) -> Path:
    """Copy the starter drafts, so that their reader may change them; returns the one to try first."""
    folders.drafts.mkdir()
    copies = [Path(shutil.copy(draft.path, folders.drafts)) for draft in starter_drafts()]
    return copies[0]


def is_store(path: Path) -> bool:
    """Whether a folder is a corpus store."""
    return (path / MANIFEST).is_file() and read_manifest(path).kind == KIND


def split_years(corpus: Corpus) -> tuple[int, int] | None:
    """Last years of train and dev, such that about a tenth of the citing papers are in dev and in test each.

    Returns:
        The two years; None when the corpus has a split already.

    Raises:
        InputError: the citing papers are of fewer than three years.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> split_years(starter_corpus()) is None
        True
    """
    if all((corpus.split == SPLITS.index(name)).any() for name in SPLITS[1:]):
        return None
    years = np.sort(corpus.years[(corpus.cites.degrees > 0) & (corpus.years > 0)])
    distinct = np.unique(years)
    if len(distinct) < 3:
        raise InputError(
            f"papers with citations are of {len(distinct)} different years, and a split by year needs three",
            where=str(corpus.path),
            hint="split it by paper: cocite corpus split STORE --random 0.1,0.1 --to DIR",
        )
    train, dev = np.quantile(years, [0.8, 0.9], method="lower")
    # Most papers may be of the last years, and each split needs a year of its own.
    dev = min(int(dev), int(distinct[-2]))
    train = min(int(train), int(distinct[distinct < dev][-1]))
    return train, dev


@dataclass(frozen=True)
class DemoQuery:
    """A test paper, as if its author had just written it.

    Attributes:
        paper: the paper.
        request: for the endpoint: its title and abstract, without itself among the candidates.
        cites: ids of the papers that it cites, which the index does not know.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> query = demo_query(starter_corpus())
        >>> query.request["exclude"] == [query.paper.id]
        True
    """

    paper: PaperRecord
    request: dict[str, Any]
    cites: frozenset[str]


def demo_query(corpus: Corpus) -> DemoQuery:
    """The test paper with most citations."""
    rows = np.flatnonzero((corpus.split == SPLITS.index("test")) & (corpus.cites.degrees > 0))
    row = int(rows[np.argmax(corpus.cites.degrees[rows])])
    paper = corpus.paper(row)
    request: dict[str, Any] = {
        "title": paper.title,
        "abstract": paper.abstract,
        "exclude": [paper.id],
        "top_k": 8,
    }
    if 1000 <= paper.year <= 2999:
        request |= {"year": paper.year, "year_to": paper.year}
    return DemoQuery(paper, request, frozenset(paper.citations))


def require_free_port(port: int) -> None:
    """Refuse a port that something listens on already.

    Raises:
        InputError: something does.
    """
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise InputError(f"port {port} is taken", where="--port", hint="name another one, as PORT=8001")


@contextmanager
def endpoint(folders: DemoFolders, port: int) -> Iterator[str]:
    """``cocite serve`` as a process of its own; yields its address once both stages are loaded.

    Raises:
        InputError: the port is taken.
        CociteError: the process ended, or its stages are not loaded in time; with its last line of standard error.
    """
    require_free_port(port)
    command = [sys.executable, "-m", "cocite", *serve_arguments(folders, port)]
    # A file: a pipe that is read only at the end would fill up, and stop the endpoint.
    with tempfile.TemporaryFile() as log:
        # A session of its own, so that Ctrl-C reaches the demo alone, which then ends the endpoint.
        process = subprocess.Popen(
            command, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log
        )
        url = f"http://127.0.0.1:{port}"
        try:
            if (problem := _wait_until_ready(process, url)) is not None:
                log.seek(0)
                lines = log.read().decode(errors="replace").strip().splitlines()
                raise CociteError(
                    f"{problem}: {lines[-1] if lines else 'it said nothing'}", where="cocite serve"
                )
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                # With its whole session: Ray's processes must not outlive it.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def serve_arguments(folders: DemoFolders, port: int) -> list[str]:
    """The command line of the endpoint, without ``cocite``."""
    return ["serve", "--model", str(folders.model), "--index", str(folders.index), "--port", str(port)]


def recommend(url: str, request: dict[str, Any]) -> dict[str, Any]:
    """The response to one request for recommendations."""
    import httpx

    response = httpx.post(f"{url}/v1/recommend", json=request, timeout=60)
    if response.status_code != 200:
        raise CociteError(f"answered {response.status_code}: {response.text[:500]}", where=url)
    result: dict[str, Any] = json.loads(response.text)
    return result


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> str | None:
    """Wait until both stages are loaded; returns the problem if there is one."""
    import httpx

    deadline = time.monotonic() + STARTUP_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return f"ended with exit code {process.returncode} before it was ready"
        try:
            if httpx.get(f"{url}/v1/health", timeout=5).status_code == 200:
                return None
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    return f"not ready after {STARTUP_SECONDS} s"

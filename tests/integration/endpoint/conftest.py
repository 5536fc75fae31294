"""One endpoint for the tests of this folder: over the starter corpus, without a trained model."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.endpoint import Running, free_port, serving

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot


@pytest.fixture(scope="package")
def starter_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index folder of the starter corpus."""
    folder = tmp_path_factory.mktemp("starter")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return folder / "index"


@pytest.fixture(scope="package")
def metrics_port() -> int:
    """Where Prometheus reads the endpoint's metrics."""
    return free_port()


@pytest.fixture(scope="package")
def endpoint_files() -> Iterator[Path]:
    """The folder of all that `endpoint` writes, Ray's session with its logs among it."""
    # The names of Ray's sockets are as long as a system allows, so that a folder of pytest's has no room for them.
    with tempfile.TemporaryDirectory(prefix="ct-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="package")
def endpoint(starter_index: Path, metrics_port: int, endpoint_files: Path) -> Iterator[Running]:
    """`cocite serve`, with room for few waiting requests so that a test can fill it."""
    log = endpoint_files / "log.txt"
    few = ("--set", "retriever.max_ongoing_requests=1", "--set", "retriever.max_queued_requests=2")
    logs = ("--set", f"logs.folder={endpoint_files / 'logs'}", "--metrics-port", str(metrics_port))
    own = {"TMPDIR": str(endpoint_files)}
    with serving(None, starter_index, log, *few, *logs, environment=own) as running:
        yield running

"""One endpoint for the tests of this folder: over the starter corpus, without a trained model."""

from __future__ import annotations

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
def endpoint(
    starter_index: Path, metrics_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """`cocite serve`, with room for few waiting requests so that a test can fill it."""
    log = tmp_path_factory.mktemp("endpoint") / "log.txt"
    few = ("--set", "retriever.max_ongoing_requests=1", "--set", "retriever.max_queued_requests=2")
    with serving(None, starter_index, log, *few, "--metrics-port", str(metrics_port)) as running:
        yield running

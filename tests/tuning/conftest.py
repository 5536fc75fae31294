"""A small synthetic corpus for sweeps of trainings, and the toy study among the kinds of studies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import toy_study
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus


@pytest.fixture(scope="session")
def small(synthetic: SyntheticCorpora) -> Corpus:
    """120 papers."""
    return synthetic(120, seed=3, sentences=True)


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kind ``toy`` is known, and no MLflow server is named."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with toy_study.registered():
        yield


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A folder that does not exist."""
    return tmp_path / "sweep"

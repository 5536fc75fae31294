"""A small synthetic corpus for sweeps of trainings, and the toy study among the kinds of studies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import toy_study

from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite_tuning.studies.settings import STUDIES


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """120 papers."""
    return build(Synthetic(120, seed=3, sentences=True), tmp_path_factory.mktemp("small") / "store")


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    toy_study.enter()
    yield
    STUDIES.pop("toy")


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A folder that does not exist."""
    return tmp_path / "sweep"

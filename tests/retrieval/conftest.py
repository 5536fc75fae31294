"""A small corpus and an encoder that needs no training."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.topic_corpus import HashEncoder, make_records

from cocite.corpus.builder import build
from cocite.corpus.store import Corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """80 papers of 2000 to 2009."""
    return build(make_records(80), tmp_path_factory.mktemp("corpus") / "store")


@pytest.fixture
def encoder() -> HashEncoder:
    return HashEncoder()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "index"

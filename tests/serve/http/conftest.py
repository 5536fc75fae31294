"""The API's backend over the starter corpus, one for all tests of this folder."""

from __future__ import annotations

import pytest
from helpers.api_backend import InProcess

from cocite.corpus.starter import build_starter
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot


@pytest.fixture(scope="package")
def shared_backend(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    folder = tmp_path_factory.mktemp("api")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return InProcess(Recommender.load(None, folder / "index"))


@pytest.fixture
def backend(shared_backend: InProcess) -> InProcess:
    """A backend of the test's own over the shared recommender."""
    return InProcess(shared_backend.recommender)

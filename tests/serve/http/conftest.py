"""The API's backend over the starter corpus, one for all tests of this folder."""

from __future__ import annotations

import pytest
from helpers.api_backend import InProcess
from helpers.served_texts import texts_folders

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
    """A backend of the test's own over the shared recommender, which has no model."""
    return InProcess(shared_backend.recommender)


@pytest.fixture(scope="package")
def shared_reader(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    model, index = texts_folders(tmp_path_factory.mktemp("texts"))
    return InProcess(Recommender.load(model, index))


@pytest.fixture
def reader(shared_reader: InProcess) -> InProcess:
    """The same over a model with a sentence encoder, and a cross-encoder that reads local queries."""
    return InProcess(shared_reader.recommender)

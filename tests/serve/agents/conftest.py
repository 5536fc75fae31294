"""The tools over the starter corpus, one for all tests of this folder."""

from __future__ import annotations

import pytest

from cocite.corpus.starter import build_starter
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.agents.tools import Tools


@pytest.fixture(scope="package")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    folder = tmp_path_factory.mktemp("agents")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return Tools(Recommender.load(None, folder / "index"))

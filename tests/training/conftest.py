from __future__ import annotations

import pytest

from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(Synthetic(600, seed=11), tmp_path_factory.mktemp("synth") / "store")

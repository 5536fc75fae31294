from __future__ import annotations

import pytest

from cocite.corpus.builder import build
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic


@pytest.fixture(scope="session")
def split_corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """600 synthetic papers; the last years are dev and test."""
    synthetic = Synthetic(600, seed=3)
    last = int(synthetic.year([599])[0])
    folder = tmp_path_factory.mktemp("split") / "corpus"
    return build(synthetic, folder, split=by_year_name(last - 2, last - 1))

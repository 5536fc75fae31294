"""The corpus of the co-citation tables, one for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.corpus.store import Corpus


@pytest.fixture(scope="module")
def cited_together(synthetic: SyntheticCorpora) -> Corpus:
    """A corpus whose contexts cite several papers and have sentences around them."""
    return synthetic(200, seed=6, split=(2, 1), context_rate=2.0, sentences=True)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of random weights."""
    return tiny_bert(tmp_path_factory.mktemp("b") / "tiny", [])

from __future__ import annotations

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus


@pytest.fixture(scope="session")
def split_corpus(synthetic: SyntheticCorpora) -> Corpus:
    """600 synthetic papers; the last year is test, the one before it is dev."""
    return synthetic(600, seed=3, split=(2, 1))

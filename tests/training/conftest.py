from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(Synthetic(600, seed=11), tmp_path_factory.mktemp("synth") / "store")


@pytest.fixture(scope="session")
def history(corpus: Corpus) -> History:
    """All papers but the latest three tenths."""
    years = np.sort(np.asarray(corpus.years))
    return History.until(corpus, int(years[int(0.7 * len(years))]))

from __future__ import annotations

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import History
from cocite.corpus.store import Corpus


@pytest.fixture(scope="session")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(600, seed=11)


@pytest.fixture(scope="session")
def history(corpus: Corpus) -> History:
    """All papers but the latest three tenths."""
    years = np.sort(np.asarray(corpus.years))
    return History.until(corpus, int(years[int(0.7 * len(years))]))

"""A synthetic corpus whose texts and citations both help to rank, indexed with and without its last years."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.pipeline.first_stage import FirstStage
from cocite.retrieval.index.index import Index


@pytest.fixture(scope="session")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    """600 papers with contexts."""
    return synthetic(600, seed=1, context_rate=4.0)


@pytest.fixture(scope="session")
def last_year(corpus: Corpus) -> int:
    """The last year that is known to the index of :func:`first`: a tenth of the papers are later."""
    return int(np.quantile(corpus.years, 0.9)) - 1


@pytest.fixture(scope="session")
def whole(corpus: Corpus) -> Index:
    """An index with every link."""
    return Index.build(corpus, History.all(corpus))


@pytest.fixture(scope="session")
def first(whole: Index, last_year: int) -> FirstStage:
    """The first stage at the end of :func:`last_year`."""
    return FirstStage(whole.rewind(last_year))


@pytest.fixture(scope="session")
def later(corpus: Corpus, last_year: int) -> list[int]:
    """Rows of papers that came after, each with links and contexts."""
    rows = np.flatnonzero((corpus.years > last_year) & (corpus.cites.degrees > 0))
    return [int(row) for row in rows if (corpus.context_citing == row).any()][:40]

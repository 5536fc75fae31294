from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.corpus.builder import build
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.systems.citeomatic.negatives import title_and_abstract
from cocite.text.fields import FieldEncoder, FieldSettings


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder: Path = tmp_path_factory.mktemp("synth")
    return build(Synthetic(500, seed=3), folder / "store")


@pytest.fixture(scope="session")
def history(corpus: Corpus) -> History:
    years = np.sort(np.asarray(corpus.years))
    return History.until(corpus, int(years[int(0.7 * len(years))]))


@pytest.fixture(scope="session")
def words(history: History) -> tuple[CSR, int]:
    """Words of title and abstract, and the size of the vocabulary."""
    fields = FieldEncoder.build(history, FieldSettings())
    return title_and_abstract(fields.papers(history.corpus)), len(fields.vocabularies["words"])

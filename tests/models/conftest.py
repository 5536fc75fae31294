from __future__ import annotations

import numpy as np
import pytest
import torch

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.systems.citeomatic.nnselect_network import NNSelect
from cocite.text.fields import FieldEncoder, FieldSettings


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(Synthetic(300, seed=5), tmp_path_factory.mktemp("synth") / "store")


@pytest.fixture(scope="session")
def history(corpus: Corpus) -> History:
    years = np.sort(np.asarray(corpus.years))
    return History.until(corpus, int(years[int(0.7 * len(years))]))


@pytest.fixture(scope="session")
def fields(history: History) -> FieldEncoder:
    return FieldEncoder.build(history, FieldSettings(min_papers_per_keyphrase=1), metadata=True)


@pytest.fixture
def nnselect(fields: FieldEncoder) -> NNSelect:
    torch.manual_seed(0)
    return NNSelect(len(fields.vocabularies["words"]), 8)

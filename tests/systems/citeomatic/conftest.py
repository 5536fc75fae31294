from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.text.fields import FieldEncoder, FieldSettings


@pytest.fixture(scope="session")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    """A corpus to load networks for, too small to train them."""
    return synthetic(300, seed=5)


@pytest.fixture(scope="session")
def training_corpus(synthetic: SyntheticCorpora) -> Corpus:
    """A corpus whose networks learn something within seconds."""
    return synthetic(600, seed=11)


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

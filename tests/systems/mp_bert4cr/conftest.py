from __future__ import annotations

from pathlib import Path

import pytest
from helpers.small_mp_bert4cr import mp_bert4cr_recipe
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.systems.mp_bert4cr.sentence_texts import prepare


@pytest.fixture(scope="session")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=4, context_rate=2.0, sentences=True)


@pytest.fixture(scope="session")
def folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with the corpus' sentences."""
    folder = tmp_path_factory.mktemp("model")
    prepare(mp_bert4cr_recipe().texts, corpus, folder / "sentence-texts")
    return folder

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.small_mp_bert4cr import mp_bert4cr_recipe
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.systems.mp_bert4cr import token_weights
from cocite.systems.mp_bert4cr.sentence_texts import prepare
from cocite.systems.mp_bert4cr.token_weights import TokenWeightSettings


@pytest.fixture(scope="session")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=4, context_rate=2.0, sentences=True)


@pytest.fixture(scope="session")
def folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with the corpus' sentences and the weights of their words."""
    folder = tmp_path_factory.mktemp("model")
    texts = mp_bert4cr_recipe().texts
    prepare(texts, corpus, folder / "sentence-texts")
    token_weights.prepare(TokenWeightSettings(texts=texts), corpus, folder / "token-weights")
    return folder

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.small_masked_lm import masked_lm_recipe
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.systems.masked_lm.task import MaskedLanguageModelTask, build
from cocite.systems.masked_lm.texts import prepare


@pytest.fixture(scope="session")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=4, context_rate=2.0, sentences=True)


@pytest.fixture(scope="session")
def folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with the corpus' texts."""
    folder = tmp_path_factory.mktemp("masked-lm")
    assert prepare(masked_lm_recipe().texts, corpus, folder / "pretraining-texts")
    return folder


@pytest.fixture
def task(corpus: Corpus, folder: Path) -> MaskedLanguageModelTask:
    return build(masked_lm_recipe(), corpus, folder)

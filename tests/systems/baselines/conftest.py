from __future__ import annotations

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.evaluation import tasks
from cocite.systems.baselines.texts import CitingTexts
from cocite.text.paragraph_reader import ParagraphSettings


@pytest.fixture(scope="session")
def citing_corpus(synthetic: SyntheticCorpora) -> Corpus:
    """250 synthetic papers with bodies; the last years are dev and test."""
    return synthetic(250, seed=5, split=(2, 1), context_rate=4.0, sentences=True)


@pytest.fixture(scope="session")
def texts(citing_corpus: Corpus) -> CitingTexts:
    """The contexts before dev."""
    history = tasks.history_before(citing_corpus, "dev")
    return CitingTexts.of(history, ParagraphSettings(stop_words=False))

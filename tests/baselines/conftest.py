from __future__ import annotations

import pytest

from cocite.corpus.builder import build
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.evaluation import tasks
from cocite.systems.baselines.texts import CitingTexts
from cocite.text.paragraph_reader import ParagraphSettings


@pytest.fixture(scope="session")
def citing_corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """250 synthetic papers with bodies; the last years are dev and test."""
    synthetic = Synthetic(250, seed=5, context_rate=4.0, sentences=True)
    last = int(synthetic.year([249])[0])
    folder = tmp_path_factory.mktemp("citing") / "corpus"
    return build(synthetic, folder, split=by_year_name(last - 2, last - 1))


@pytest.fixture(scope="session")
def texts(citing_corpus: Corpus) -> CitingTexts:
    history = tasks.history_before(citing_corpus, "dev")
    return CitingTexts.of(history, ParagraphSettings(stop_words=False))

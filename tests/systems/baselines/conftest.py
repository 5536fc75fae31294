from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.builder import build
from cocite.corpus.records import ContextRecord, PaperRecord, Record
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
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


@pytest.fixture(scope="session")
def other_future(
    citing_corpus: Corpus, texts: CitingTexts, tmp_path_factory: pytest.TempPathFactory
) -> CitingTexts:
    """The contexts before dev of a corpus whose dev and test papers have other texts, authors, links and contexts."""
    last = int(citing_corpus.years.max())
    later = {
        citing_corpus.paper(row).id for row in range(len(citing_corpus)) if not texts.history.citing[row]
    }

    def rewritten(record: Record) -> Record:
        if isinstance(record, PaperRecord) and record.id in later:
            return replace(record, title="other words", abstract="", authors=("A Stranger",), citations=())
        if isinstance(record, ContextRecord) and record.citing in later:
            return replace(record, text=f"strange TARGETCIT {record.text[:40]}", cited=record.cited[:1])
        return record

    records = [rewritten(record) for record in Synthetic(250, seed=5, context_rate=4.0, sentences=True)]
    corpus = build(
        records, tmp_path_factory.mktemp("other") / "corpus", split=by_year_name(last - 2, last - 1)
    )
    assert len(corpus.cites.indices) < len(citing_corpus.cites.indices)
    return CitingTexts.of(tasks.history_before(corpus, "dev"), ParagraphSettings(stop_words=False))

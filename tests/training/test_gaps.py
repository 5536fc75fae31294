from __future__ import annotations

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.training.gaps import Gaps


@pytest.fixture
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=5)


def test_gaps_are_the_contexts_that_cite_another_paper(corpus: Corpus) -> None:
    gaps = Gaps.known(History.all(corpus))
    expected = [
        position
        for position in range(len(corpus.contexts))
        if set(corpus.context_cited[position].tolist()) - {int(corpus.context_citing[position])}
    ]
    assert gaps.positions.tolist() == expected
    for number in (0, len(gaps) // 2, len(gaps) - 1):
        citing = int(gaps.citing[number])
        assert citing == corpus.context_citing[gaps.positions[number]]
        cited = set(corpus.context_cited[gaps.positions[number]].tolist()) - {citing}
        assert set(gaps.cited[number].tolist()) == cited


def test_a_history_knows_the_gaps_of_its_papers_alone(corpus: Corpus) -> None:
    year = int(np.median(corpus.years))
    gaps = Gaps.known(History.until(corpus, year))
    assert 0 < len(gaps) < len(Gaps.known(History.all(corpus)))
    assert corpus.years[gaps.citing].max() <= year


def test_a_sample_is_drawn_evenly_from_some_papers(corpus: Corpus) -> None:
    papers = np.arange(200, 300, dtype=np.int32)
    whole, few = Gaps.sample(corpus, papers, 10**6), Gaps.sample(corpus, papers, 9)
    assert set(whole.citing.tolist()) <= set(papers.tolist())
    assert len(few) <= 9 < len(whole)
    assert set(few.positions.tolist()) <= set(whole.positions.tolist())
    assert few.positions[0] == whole.positions[0]


def test_gaps_are_the_same_whatever_the_blocks(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History.until(corpus, 2012)
    dev = np.flatnonzero(~history.citing).astype(np.int32)
    whole = Gaps.known(history), Gaps.sample(corpus, dev, 20)
    monkeypatch.setattr("cocite.training.gaps.BLOCK", 37)
    for one, other in zip(whole, (Gaps.known(history), Gaps.sample(corpus, dev, 20)), strict=True):
        assert np.array_equal(one.positions, other.positions)
        assert np.array_equal(one.citing, other.citing)
        assert np.array_equal(one.cited.indptr, other.cited.indptr)
        assert np.array_equal(one.cited.indices, other.cited.indices)


def test_a_corpus_without_contexts_has_no_gaps(synthetic: SyntheticCorpora) -> None:
    none = Gaps.known(History.all(synthetic(50, seed=1, context_rate=0.0)))
    assert len(none) == len(none.cited) == 0

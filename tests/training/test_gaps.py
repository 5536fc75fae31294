from __future__ import annotations

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.csr import CSR
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


@pytest.mark.parametrize("size", [1, 3])
def test_bundles_hold_each_gap_once_and_one_paper_each(corpus: Corpus, size: int) -> None:
    gaps = Gaps.known(History.all(corpus))
    first, second = (gaps.bundles(size, seed=1, epoch=epoch) for epoch in (0, 1))
    for bundles in (first, second):
        assert sorted(bundles.indices.tolist()) == list(range(len(gaps)))
        assert 1 <= bundles.degrees.min() <= bundles.degrees.max() <= size
        for number in range(len(bundles)):
            assert len(set(gaps.citing[bundles[number]].tolist())) == 1
    assert len(first) == len(second)
    assert size == 1 or not np.array_equal(first.indices, second.indices)


def test_no_gaps_make_no_bundles() -> None:
    empty = Gaps(np.zeros(0, np.int64), np.zeros(0, np.int32), CSR.build([], [], 0))
    assert len(empty.bundles(4, seed=0, epoch=0)) == 0

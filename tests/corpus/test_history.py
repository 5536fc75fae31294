from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(Synthetic(400, seed=3), tmp_path_factory.mktemp("history") / "store")


def test_all_of_history_is_the_corpus(corpus: Corpus) -> None:
    known = History.all(corpus)
    assert np.array_equal(known.cites.indices, corpus.cites.indices)
    assert np.array_equal(known.cited_by.indices, corpus.cited_by.indices)
    for mine, theirs in zip(known.cocitations, corpus.cocitations, strict=True):
        left, right = getattr(mine, "indices", mine), getattr(theirs, "indices", theirs)
        assert np.array_equal(left, right)


def test_nothing_later_is_known(corpus: Corpus) -> None:
    known = History.until(corpus, 2005)
    rows, _ = known.cites.pairs()
    assert corpus.years[rows].max() == known.year == 2005
    assert corpus.years[corpus.context_citing[known.contexts]].max() <= 2005
    groups = [corpus.context_cited[i].tolist() for i in known.contexts.tolist()]
    expected = Counter(pair for group in groups for pair in permutations(group, 2))
    together, times = known.cocitations
    a, b = together.pairs()
    assert dict(zip(zip(a.tolist(), b.tolist(), strict=True), times.tolist(), strict=True)) == dict(expected)
    assert times.sum() < corpus.cocitations[1].sum()


def test_counts_of_citations(corpus: Corpus) -> None:
    known = History.until(corpus, 2005)
    rows, cited = corpus.cites.pairs()
    inside = corpus.years[rows] <= 2005
    assert np.array_equal(known.in_citations, np.bincount(cited[inside], minlength=len(corpus)))
    recent = inside & (corpus.years[rows] > 2003)
    assert np.array_equal(known.recent_in_citations(2), np.bincount(cited[recent], minlength=len(corpus)))

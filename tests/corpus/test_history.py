from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import History, history_before, known_history
from cocite.corpus.splits import Split, with_split
from cocite.corpus.store import Corpus
from cocite.errors import InputError


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(400, seed=3)


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


def test_occurrences_are_counted_context_by_context(corpus: Corpus) -> None:
    known = History.until(corpus, 2005)
    expected = np.zeros(len(corpus), int)
    for context in known.contexts.tolist():
        citing = int(corpus.context_citing[context])
        for paper in corpus.context_cited[context].tolist():
            expected[paper] += paper != citing
    assert known.occurrences.tolist() == expected.tolist()
    assert expected.sum() > known.in_citations[expected > 0].sum()  # some paper cites another several times


@pytest.mark.parametrize("split", ["dev", "test"])
def test_before_a_random_split_the_earlier_splits_are_known_whatever_their_years(
    corpus: Corpus, tmp_path: Path, split: str
) -> None:
    mixed = with_split(corpus, Split.random(len(corpus), 0.2, 0.2, seed=1), tmp_path / "mixed")
    known = history_before(mixed, split)
    earlier = [1] if split == "dev" else [1, 2]
    assert np.array_equal(known.citing, np.isin(mixed.split, earlier))
    assert np.array_equal(known_history(mixed, before_split=split).citing, known.citing)


def test_one_option_alone_limits_what_an_index_knows(corpus: Corpus, tmp_path: Path) -> None:
    assert known_history(corpus).citing.all()
    assert np.array_equal(known_history(corpus, known_until=2005).citing, History.until(corpus, 2005).citing)
    with pytest.raises(InputError, match="the year 2005 and the split 'dev' both say"):
        known_history(corpus, known_until=2005, before_split="dev")
    with pytest.raises(InputError, match="did you mean 'test'"):
        known_history(corpus, before_split="tset")
    unsplit = with_split(corpus, Split.random(len(corpus), 0, 0), tmp_path / "unsplit")
    with pytest.raises(InputError, match="no paper belongs to the dev split"):
        known_history(unsplit, before_split="dev")

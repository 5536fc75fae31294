from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.records import make, paper
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.splits import Split, by_year_name, leaked, parse_shares, parse_years, with_split
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.retrieval.index.stored_corpus import link_corpus


def test_splits_by_year(tmp_path: Path) -> None:
    corpus = make(
        tmp_path, [paper(str(y), year=y) for y in (0, 2008, 2009, 2010, 2011)], split=by_year_name(2009, 2010)
    )
    split = Split.by_year(corpus, 2009, 2010)
    assert split.codes.tolist() == [0, 1, 1, 2, 3]
    assert np.array_equal(Split.of(corpus).codes, split.codes)
    assert split.counts() == {"none": 1, "train": 2, "dev": 1, "test": 1}
    assert [split.train.sum(), split.dev.sum(), split.test.sum()] == [2, 1, 1]
    with pytest.raises(InputError, match="dev ends in 2008"):
        Split.by_year(corpus, 2009, 2008)


@given(st.integers(0, 200), st.integers(0, 50), st.integers(0, 50), st.integers(0, 9))
def test_random_splits_have_their_shares_and_follow_the_seed(
    count: int, dev: int, test: int, seed: int
) -> None:
    split = Split.random(count, dev / 100, test / 100, seed=seed)
    assert split.dev.sum() == round(dev / 100 * count)
    assert abs(int(split.test.sum()) - test / 100 * count) <= 1
    assert (split.train | split.dev | split.test).all()
    assert np.array_equal(split.codes, Split.random(count, dev / 100, test / 100, seed=seed).codes)


def test_other_seeds_give_other_splits() -> None:
    assert not np.array_equal(
        Split.random(100, 0.2, 0.2, seed=1).codes, Split.random(100, 0.2, 0.2, seed=2).codes
    )


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (parse_years, "2009", "split years: '2009' is not two years as 2009,2010"),
        (parse_years, "2010,2009", "split years: dev ends in 2009, before train in 2010"),
        (parse_shares, "a,b", "random split: 'a,b' is not two shares as 0.1,0.1"),
    ],
)
def test_splits_that_cannot_be_read(reader: object, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        reader(text)  # type: ignore[operator]
    with pytest.raises(InputError, match="within 0 and 1"):
        Split.random(10, 0.6, 0.6)


def test_leaks_leave_train_and_all_else_stays(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    titles = ["Attention is all you need", "Deep sets", "Sequence to sequence learning"]
    records = [paper(str(i), *map(str, range(i)), title=t, year=2000) for i, t in enumerate(titles)]
    corpus = make(one, records, split=lambda _: "train")
    other = make(
        two, [paper("x", title="ATTENTION: Is all you need?"), paper("y", title="Deep nets for sets")]
    )
    leaks = leaked(corpus, other)
    assert leaks.tolist() == [True, False, False]
    result = with_split(corpus, Split.of(corpus).without(leaks), tmp_path / "clean")
    assert result.split.tolist() == [0, 1, 1]
    assert [p.title for p in result.papers_at(range(3))] == titles
    assert np.array_equal(result.cites.indices, corpus.cites.indices)
    assert result.counts["splits"]["train"] == 2
    Corpus.verify(result.path)


def test_a_split_of_a_store_without_bodies_is_another_corpus(tmp_path: Path) -> None:
    corpus = make(tmp_path)
    link_corpus(corpus, tmp_path / "linked", bodies=False)
    linked = Corpus.open(tmp_path / "linked")
    result = with_split(linked, Split.by_year(linked, 2000, 2001), tmp_path / "split")
    assert not result.has_bodies
    assert result.version != linked.version == corpus.version
    Corpus.verify(result.path)

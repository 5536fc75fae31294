from __future__ import annotations

from pathlib import Path

import pytest
from helpers.records import make, paper
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.characteristics import PUBLISHED, STATISTICS, characteristics, shown


def test_counts_of_a_small_corpus(tmp_path: Path) -> None:
    records = [
        paper("a", year=2000, split="train", authors=("X", "Y"), keyphrases=("k",), venue="V"),
        paper("b", "a", year=2001, split="train", authors=("Y", "y"), keyphrases=("k", "l"), venue="V"),
        paper("c", "a", "b", year=0, split="dev", venue=""),
        paper("d", "a", year=2003, split="test", authors=("Z",), venue="W"),
        paper("e", year=2004, split="test"),
    ]
    assert characteristics(make(tmp_path, records)) == {
        "papers": 5,
        "authors": 4,
        "keyphrases": 2,
        "venues": 2,
        "in_citations": {"mean": pytest.approx(0.8), "deviation": pytest.approx((6.8 / 5) ** 0.5)},
        "out_citations": {"mean": pytest.approx(0.8), "deviation": pytest.approx((2.8 / 5) ** 0.5)},
        "train": {"papers": 2, "first_year": 2000, "last_year": 2001},
        "dev": {"papers": 1, "first_year": None, "last_year": None},
        "test": {"papers": 1, "first_year": 2003, "last_year": 2003},
    }


def test_distinct_texts_are_those_of_the_papers(synthetic: SyntheticCorpora) -> None:
    corpus = synthetic(300, seed=5, split=(3, 1))
    papers = corpus.papers_at(range(len(corpus)))
    found = characteristics(corpus)
    assert found["authors"] == len({name for one in papers for name in one.authors}) > 0
    assert found["keyphrases"] == len({phrase for one in papers for phrase in one.keyphrases}) > 0
    assert found["venues"] == len({one.venue for one in papers if one.venue}) > 0
    assert found["out_citations"]["mean"] == len(corpus.cites.indices) / len(corpus)


def test_an_empty_corpus_has_none(tmp_path: Path) -> None:
    found = characteristics(make(tmp_path, []))
    assert found["authors"] == found["venues"] == found["papers"] == 0
    assert [shown(name, found[name]) for name in STATISTICS] == ["0"] * 4 + ["0.0 (± 0.0)"] * 2 + ["0"] * 3


def test_published_numbers_are_of_known_statistics() -> None:
    assert list(PUBLISHED["OpenCorpus"]) == list(STATISTICS)
    assert all(set(numbers) <= set(STATISTICS) for numbers in PUBLISHED.values())

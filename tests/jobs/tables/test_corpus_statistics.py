from __future__ import annotations

from pathlib import Path

import pytest

from cocite.corpus.builder import build
from cocite.corpus.records import ContextRecord, PaperRecord
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.evaluation.tasks import global_, local
from cocite_jobs.tables.corpus_statistics import COUNTED, corpus_table, has_values


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    papers = [
        PaperRecord("a", "one", abstract="xyz", year=2000, authors=("Ada", "Bo"), venue="ACL"),
        PaperRecord("b", "two", abstract="", year=2001, authors=("Ada",), citations=("a",)),
        PaperRecord("c", "four!", abstract="", year=2002, venue="ACL", citations=("a", "b")),
        PaperRecord("d", "five", abstract="", year=2003, citations=("a", "b", "c")),
    ]
    contexts = [
        ContextRecord("b/0", "b", ("a",), "as in TARGETCIT."),
        ContextRecord("d/0", "d", ("a",), "as in TARGETCIT or so."),
        ContextRecord("d/1", "d", ("b", "c"), "both TARGETCIT."),
    ]
    return build([*papers, *contexts], tmp_path / "c", split=by_year_name(2001, 2002))


def values(corpus: Corpus, paper: str) -> dict[str, object]:
    return {row[0]: row[1] for row in corpus_table(corpus, paper).rows}


def test_citeomatic_counts_papers_and_metadata(corpus: Corpus) -> None:
    assert values(corpus, "citeomatic") == {
        "# of documents in corpus": 4,
        "# of unique authors": 2,
        "# of unique keyphrases": 0,
        "# of unique venues": 1,
        "avg. # of incoming citations": 1.5,
        "avg. # of outgoing citations": 1.5,
        "size of training set": 2,
        "size of dev set": 1,
        "size of test set": 1,
    }


def test_nogueira_counts_queries_and_pairs(corpus: Corpus) -> None:
    found = values(corpus, "nogueira")
    assert found["Avg. len. per doc (char)"] == round((6 + 3 + 5 + 4) / 4)
    assert [found[f"Queries - {name}"] for name in ("Train", "Dev", "Test")] == [1, 1, 1]
    assert [found[f"q/rel. doc pairs - {name}"] for name in ("Train", "Dev", "Test")] == [1, 2, 3]
    assert found["Queries - Test"] == len(global_(corpus, "test"))


def test_the_others_count_contexts(corpus: Corpus) -> None:
    found = values(corpus, "hatten")
    assert [found[f"local contexts, {name}"] for name in ("train", "val", "test")] == [1, 0, 2]
    assert found["local contexts, test"] == len(local(corpus, "test"))
    assert (found["first year"], found["last year"]) == ("2000", "2003")
    found = values(corpus, "mp-bert4cr")
    assert found["Train Cit No."] == 1
    assert [found[f"Test Cit for P {part}"] for part in (">= 1", "= 1", ">= 2")] == [2, 1, 1]


@pytest.mark.parametrize("paper", COUNTED)
def test_a_corpus_of_nothing_is_counted(tmp_path: Path, paper: str) -> None:
    corpus = build([PaperRecord("a", "alone")], tmp_path / "c")
    assert all(value == value for value in values(corpus, paper).values())


def test_fields_without_values_are_known(corpus: Corpus) -> None:
    assert has_values(corpus, "venue")
    assert not has_values(corpus, "keyphrases")

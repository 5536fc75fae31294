"""Bags of papers and queries, field by field, and what pairs of bags share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.protocols import Query
from cocite.text.fields import FieldEncoder, FieldSettings, jaccard, shared, take
from cocite.text.vocabulary import concatenate


def rows(table: CSR) -> list[list[int]]:
    return [table[i].tolist() for i in range(len(table))]


# -- papers and queries ---------------------------------------------------------------------------------------


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return build(
        [
            PaperRecord(
                "a",
                "Parsing trees",
                "Trees and trees.",
                2000,
                "ACL",
                ("Ann Bo", "Cy Di"),
                ("syntax", "trees"),
            ),
            PaperRecord("b", "Parsing fast", "", 2001, "ACL", ("Ann Bo",), ("syntax",), citations=("a",)),
            PaperRecord(
                "c", "Parsing novelword", "novelword fast", 2005, "COLING", ("Ed Fo",), citations=("a",)
            ),
        ],
        tmp_path / "store",
    )


def encoder(corpus: Corpus) -> FieldEncoder:
    settings = FieldSettings(min_papers_per_word=1, min_papers_per_keyphrase=2)
    return FieldEncoder.build(History.until(corpus, 2004), settings, metadata=True)


def test_types_come_from_the_history_alone(corpus: Corpus) -> None:
    found = encoder(corpus).vocabularies
    assert set(found["words"].types) == {"parsing", "trees", "and", "fast"}
    assert found["words"].types[0] == "parsing"  # in two papers
    assert set(found["authors"].types) == {"ann bo", "cy di"}
    assert found["venue"].types == ("acl",)
    assert found["keyphrases"].types == ("syntax",)  # the other stands in one paper only


def test_papers_and_equal_queries_have_equal_bags(corpus: Corpus) -> None:
    fields = encoder(corpus)
    papers = fields.papers(corpus)
    queries = fields.queries(
        [
            Query(
                r.id,
                title=r.title,
                abstract=r.abstract,
                authors=r.authors,
                venue=r.venue,
                keyphrases=r.keyphrases,
            )
            for r in corpus.papers_at([0, 1, 2])
        ]
    )
    assert {f: rows(b) for f, b in papers.items()} == {f: rows(b) for f, b in queries.items()}
    some = fields.papers(corpus, np.array([2, 0], np.int32))
    assert rows(some["title"]) == [rows(papers["title"])[2], rows(papers["title"])[0]]


def test_papers_and_equal_queries_have_equal_sequences(corpus: Corpus) -> None:
    fields = encoder(corpus)
    bags, texts = fields.papers(corpus), fields.paper_sequences(corpus)
    assert set(texts) == {"title", "abstract"}
    records = corpus.papers_at(range(len(corpus)))
    asked = fields.query_sequences([Query("q", title=r.title, abstract=r.abstract) for r in records])
    some = fields.paper_sequences(corpus, np.array([1, 0], np.int32))
    for field, lists in texts.items():
        for row in range(len(corpus)):
            assert np.unique(lists[row]).tolist() == bags[field][row].tolist()
            assert lists[row].tolist() == asked[field][row].tolist()
        assert [some[field][i].tolist() for i in (0, 1)] == [lists[i].tolist() for i in (1, 0)]


def test_a_gap_is_read_with_the_abstract(corpus: Corpus) -> None:
    fields = encoder(corpus)
    gap = fields.queries([Query("q", context="we use trees [CIT]", abstract="fast")])["abstract"]
    assert {fields.vocabularies["words"].types[t] for t in gap[0]} == {"trees", "fast"}


def test_an_encoder_is_read_back(corpus: Corpus, tmp_path: Path) -> None:
    fields = encoder(corpus)
    fields.save(tmp_path)
    back = FieldEncoder.load(tmp_path, fields.settings, metadata=True)
    assert {f: rows(b) for f, b in back.papers(corpus).items()} == {
        f: rows(b) for f, b in fields.papers(corpus).items()
    }


# -- bags of pairs --------------------------------------------------------------------------------------------

BAGS = st.lists(st.sets(st.integers(0, 11), max_size=8), min_size=1, max_size=6)


def bags(sets: list[set[int]]) -> CSR:
    owners = [i for i, values in enumerate(sets) for _ in values]
    return CSR.build(np.array(owners, int), np.array([v for values in sets for v in values], int), len(sets))


@given(BAGS, BAGS, st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_shared_types_equal_set_intersections(
    left: list[set[int]], right: list[set[int]], pairs: list[tuple[int, int]]
) -> None:
    a = np.array([i % len(left) for i, _ in pairs], int)
    b = np.array([j % len(right) for _, j in pairs], int)
    pair, type_ = shared(bags(left), a, bags(right), b, 12)
    expected = [(k, t) for k in range(len(pairs)) for t in sorted(left[a[k]] & right[b[k]])]
    assert list(zip(pair.tolist(), type_.tolist(), strict=True)) == expected
    for block in (1, 512):
        found = jaccard(bags(left), a, bags(right), b, 12, block=block)
        both = zip(a, b, strict=True)
        direct = [len(left[i] & right[j]) / max(len(left[i] | right[j]), 1) for i, j in both]
        assert found == pytest.approx(direct)


def test_taking_and_concatenating_rows() -> None:
    table = bags([{1, 3}, set(), {0}])
    assert rows(take(table, np.array([2, 0, 0]))) == [[0], [1, 3], [1, 3]]
    assert rows(concatenate([table, bags([{5}])])) == [[1, 3], [], [0], [5]]
    assert len(concatenate([])) == 0

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError, NotFoundError
from cocite.protocols import Query
from cocite.text import vocabulary as module
from cocite.text.fields import FieldEncoder, FieldSettings, jaccard, shared, take
from cocite.text.vocabulary import DocumentCounts, Vocabulary, concatenate, names, words

WORDS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9), min_size=1, max_size=8)


def lists(values: list[list[str]]) -> pa.ListArray:
    return pa.array(values, pa.list_(pa.string()))


def rows(table: CSR) -> list[list[int]]:
    return [table[i].tolist() for i in range(len(table))]


# -- cutting --------------------------------------------------------------------------------------------------


def test_words_are_folded_and_citation_marks_are_none() -> None:
    text = "The Neural-Net: ﬁne-tuned TARGETCIT (OTHERCIT) [CIT] [[CIT:12]] naïve 2x Über"
    found = [word for word in words(pa.array([text, None]))[0].as_py() if word]
    assert found == ["the", "neural", "net", "fine", "tuned", "naive", "2x", "uber"]


def test_names_stay_whole() -> None:
    assert names(lists([["Ann  B. Bo", "CY di"], []])).to_pylist() == [["ann b. bo", "cy di"], []]


# -- counting -------------------------------------------------------------------------------------------------


@given(WORDS, st.integers(1, 3), st.integers(1, 6))
def test_document_counts_equal_a_counter_of_sets(documents: list[list[str]], least: int, size: int) -> None:
    counts = DocumentCounts()
    counts.add(lists(documents[: len(documents) // 2]))
    counts.add(lists(documents[len(documents) // 2 :]))
    found = counts.vocabulary(size=size, least=least)
    direct = Counter(word for document in documents for word in set(document))
    expected = sorted(((-n, w) for w, n in direct.items() if n >= least))[:size]
    assert list(zip(found.types, found.counts.tolist(), strict=True)) == [(w, -n) for n, w in expected]


@given(WORDS, st.integers(0, 9))
def test_encoding_gives_the_set_of_known_words_among_the_first(
    documents: list[list[str]], limit: int
) -> None:
    vocabulary = Vocabulary("hgfa", np.arange(4))
    expected = [sorted({"hgfa".index(w) for w in d[:limit] if w in "hgfa"}) for d in documents]
    assert rows(vocabulary.encode(lists(documents), limit)) == expected


def test_short_and_long_inputs_are_numbered_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = Vocabulary(["b", "a"], np.ones(2))
    values = pa.array(["a", None, "x", "b", ""])
    short = vocabulary.numbers(values)
    monkeypatch.setattr(module, "SMALL", 0)
    assert vocabulary.numbers(values).tolist() == short.tolist() == [1, -1, -1, 0, -1]


def test_inverse_document_frequency() -> None:
    found = Vocabulary("ab", np.array([9, 0])).inverse_document_frequency(9)
    assert found == pytest.approx([1.0, np.log(10) + 1])


# -- files ----------------------------------------------------------------------------------------------------


def test_a_vocabulary_is_read_back(tmp_path: Path) -> None:
    vocabulary = Vocabulary(["naïve", "proc. of x"], np.array([3, 1]))
    vocabulary.save(tmp_path / "words.txt")
    back = Vocabulary.load(tmp_path / "words.txt")
    assert back.types == vocabulary.types
    assert back.counts.tolist() == [3, 1]


def test_a_damaged_vocabulary_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("a\t1\nb two\n")
    with pytest.raises(IntegrityError, match=r"words\.txt:2: not a type, a tab and a count"):
        Vocabulary.load(path)
    path.write_bytes(b"\xff\t1\n")
    with pytest.raises(IntegrityError, match="not valid UTF-8"):
        Vocabulary.load(path)
    with pytest.raises(NotFoundError):
        Vocabulary.load(tmp_path / "none.txt")


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

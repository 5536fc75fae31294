from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.errors import IntegrityError, NotFoundError
from cocite.text import vocabulary as module
from cocite.text.vocabulary import DocumentCounts, Vocabulary, names, words

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


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "x"]), max_size=8), max_size=6), st.integers(1, 9))
def test_sequences_are_the_known_words_in_order(documents: list[list[str]], limit: int) -> None:
    vocabulary = Vocabulary(["b", "a", "c"], np.array([3, 2, 1]))
    found = vocabulary.sequences(lists(documents), limit)
    number = {"b": 0, "a": 1, "c": 2}
    expected = [[number[word] for word in words[:limit] if word in number] for words in documents]
    assert [found[i].tolist() for i in range(len(found))] == expected


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
    with pytest.raises(NotFoundError, match=r"none\.txt: no such file"):
        Vocabulary.load(tmp_path / "none.txt")


@given(st.lists(st.text(st.characters(codec="ascii"), max_size=40), min_size=1, max_size=5))
def test_texts_of_ascii_alone_have_the_words_that_they_have_among_others(texts: list[str]) -> None:
    alone = words(pa.array(texts, pa.string())).to_pylist()
    assert words(pa.array([*texts, "é — ß"], pa.string())).to_pylist()[:-1] == alone

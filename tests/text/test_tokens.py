"""Words for lexical matching: how texts are split, and how words are numbered."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import InputError
from cocite.text import tokens
from cocite.text.tokens import STOP_WORDS, WordTokenizer

TEXTS = st.lists(st.text("ab c-X1", max_size=30), max_size=6)


def test_words_are_lower_case_of_two_letters_or_more_without_stop_words() -> None:
    text = "The parser of a Tree: x2 x über-tree trees"
    assert WordTokenizer().words(text) == ["parser", "tree", "x2", "über", "tree", "trees"]
    assert WordTokenizer("none").words(text)[:3] == ["the", "parser", "of"]
    assert STOP_WORDS["none"] == frozenset()


@given(TEXTS, TEXTS)
def test_words_are_numbered_in_order_of_appearance(known: list[str], texts: list[str]) -> None:
    tokenizer = WordTokenizer()
    vocabulary: dict[str, int] = {}
    numbers, indptr = tokenizer.learn(known, vocabulary)
    assert list(vocabulary.values()) == list(range(len(vocabulary)))
    words = list(vocabulary)
    for i, text in enumerate(known):
        assert [words[n] for n in numbers[indptr[i] : indptr[i + 1]]] == tokenizer.words(text)
    before = dict(vocabulary)
    numbers, indptr = tokenizer.lookup(texts, vocabulary)
    assert vocabulary == before
    for i, text in enumerate(texts):
        expected = [word for word in tokenizer.words(text) if word in vocabulary]
        assert [words[n] for n in numbers[indptr[i] : indptr[i + 1]]] == expected


@given(st.lists(st.text(st.characters(exclude_categories=["Cn", "Cs", "Co"]), max_size=40), max_size=9))
def test_many_texts_are_split_as_one_is(texts: list[str]) -> None:
    """Arrow splits the many, Python's regular expressions the one."""
    vocabulary: dict[str, int] = {}
    tokenizer = WordTokenizer()
    numbers, indptr = tokenizer.learn(texts, vocabulary)
    words = list(vocabulary)
    for i, text in enumerate(texts):
        assert [words[n] for n in numbers[indptr[i] : indptr[i + 1]]] == tokenizer.words(text)


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_batches_are_put_together_in_order(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "BATCH", 3)
    texts = [f"word{i % 7} of paper{i}" for i in range(50)]
    vocabulary: dict[str, int] = {}
    numbers, indptr = WordTokenizer().learn(iter(texts), vocabulary, threads=threads)
    words = list(vocabulary)
    assert [words[n] for n in numbers] == [word for i in range(50) for word in (f"word{i % 7}", f"paper{i}")]
    assert indptr.tolist() == list(range(0, 101, 2))
    assert words[:3] == ["word0", "paper0", "word1"]


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="unknown stop words 'englisch'.*did you mean 'english'"):
        WordTokenizer("englisch")
    if importlib.util.find_spec("Stemmer") is None:
        with pytest.raises(InputError, match="stemming for 'english' needs PyStemmer"):
            WordTokenizer(stemmer="english")
    else:
        with pytest.raises(InputError, match="unknown stemmer 'englisch'.*did you mean 'english'"):
            WordTokenizer(stemmer="englisch")
        assert WordTokenizer(stemmer="english").words("parsing trees") == ["pars", "tree"]

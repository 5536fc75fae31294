"""Words for lexical matching: how texts are split, and how words are numbered."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import InputError
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

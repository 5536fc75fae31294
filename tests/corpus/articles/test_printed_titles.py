"""Pieces of references that may be titles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.articles.printed_titles import possible_titles, printed_dois


def titles(text: str) -> set[str]:
    return {run.text for run in possible_titles(text)}


def test_titles_with_a_colon_and_commas() -> None:
    found = titles("Lee, A.: Trees, graphs, and sets: a study. In: ACL 2020, pp. 1-2")
    assert "Trees graphs and sets a study" in found
    assert {"Trees graphs", "and sets a study"} <= found
    assert "Trees" not in found, "one word is no title"
    assert not titles("word " * 41)


def test_a_doi() -> None:
    text = "At https://doi.org/10.18653/v1/P18-1001. More."
    [doi] = printed_dois(text)
    assert text[doi.start : doi.end] == "10.18653/v1/P18-1001."
    assert doi.text == "10.18653/v1/P18-1001"


@given(st.text('ab .,:"', max_size=60))
def test_places_are_those_of_the_words(text: str) -> None:
    for run in possible_titles(text):
        words = run.text.split()
        assert 2 <= len(words) <= 40
        at = run.start
        for word in words:
            at = text.index(word, at, run.end) + len(word)

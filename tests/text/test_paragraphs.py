"""Paragraphs of numbered words: taken, joined, and as a rectangle."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.text.paragraphs import UNKNOWN, Paragraphs

LISTS = st.lists(st.lists(st.integers(1, 99), max_size=5), min_size=1, max_size=6)


def packed(lists: list[list[int]]) -> Paragraphs:
    tokens = np.array([token for one in lists for token in one], np.int32)
    return Paragraphs(np.cumsum([0, *map(len, lists)]), tokens)


def as_lists(paragraphs: Paragraphs) -> list[list[int]]:
    return [part.tolist() for part in np.split(paragraphs.tokens, paragraphs.indptr[1:-1])]


@given(LISTS, st.data())
def test_paragraphs_are_taken_as_python_lists(lists: list[list[int]], data: st.DataObject) -> None:
    order = data.draw(st.lists(st.integers(0, len(lists) - 1), min_size=1, max_size=8))
    assert as_lists(packed(lists).take(np.array(order))) == [lists[i] for i in order]
    rectangle = packed(lists).rectangle(np.array(order))
    longest = max(len(lists[i]) for i in order)
    expected = [lists[i] + [UNKNOWN] * (longest - len(lists[i])) for i in order]
    assert rectangle.tolist() == expected


@given(st.lists(LISTS, min_size=1, max_size=4))
def test_joined_paragraphs_keep_their_words(parts: list[list[list[int]]]) -> None:
    joined = Paragraphs.joined(packed(part) for part in parts)
    assert as_lists(joined) == [one for part in parts for one in part]
    assert joined.lengths.tolist() == [len(one) for part in parts for one in part]


def test_nothing_joined_is_no_paragraph() -> None:
    assert len(Paragraphs.joined([])) == 0

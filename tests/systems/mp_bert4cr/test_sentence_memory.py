"""Each sentence's vector is computed once, and is the one that the trunk gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cocite.systems.mp_bert4cr.sentence_memory import SentenceMemory
from cocite.text.token_lists import TokenLists

WIDTH = 3
SENTENCES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), max_size=12)


class Trunk:
    """Vectors that are a function of the tokens, in order."""

    def __init__(self) -> None:
        self.read: list[tuple[int, ...]] = []

    def vectors(self, sentences: TokenLists) -> NDArray[np.float32]:
        texts = [tuple(sentences[i].tolist()) for i in range(len(sentences))]
        self.read += texts
        found = [[len(text), sum(text), text[0]] for text in texts]
        return np.array(found, np.float32).reshape(-1, WIDTH)


@given(st.lists(SENTENCES, max_size=6), st.integers(0, 20))
def test_vectors_are_the_trunks_whatever_has_room(calls: list[list[list[int]]], rows: int) -> None:
    trunk = Trunk()
    memory = SentenceMemory(room=rows * WIDTH * 4)
    for sentences in calls:
        lists = TokenLists.of(sentences)
        expected = Trunk().vectors(lists)
        found = memory.vectors(lists, trunk.vectors)
        np.testing.assert_array_equal(found, expected)
        assert found.shape == (len(sentences), WIDTH)
    assert 0 <= memory.room <= rows * WIDTH * 4
    distinct = {tuple(sentence) for sentences in calls for sentence in sentences}
    if len(distinct) <= rows:
        assert sorted(trunk.read) == sorted(distinct), "each is computed once"


def test_what_found_no_room_is_computed_again() -> None:
    trunk = Trunk()
    memory = SentenceMemory(room=2 * WIDTH * 4)
    for _ in range(2):
        memory.vectors(TokenLists.of([[1], [2]]), trunk.vectors)
        memory.vectors(TokenLists.of([[2], [3, 1]]), trunk.vectors)
    assert trunk.read == [(1,), (2,), (3, 1), (3, 1)]

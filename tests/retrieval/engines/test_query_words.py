"""The words of several texts of one query."""

from __future__ import annotations

import numpy as np

from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.query_words import QueryWords


def test_words_are_counted_by_text_and_can_be_narrowed() -> None:
    index = Bm25Index.build(["alpha beta gamma delta"])
    asked = index.query_words(["beta alpha beta", "delta", "omega"])
    assert asked.words.tolist() == [0, 1, 3]
    assert asked.times.tolist() == [[1, 2, 0], [0, 0, 1], [0, 0, 0]]
    only = asked.only([1])
    assert only.words.tolist() == [3]
    below = asked.below(2)
    assert below.words.tolist() == [0, 1]
    assert below.times.tolist() == [[1, 2], [0, 0], [0, 0]]
    assert asked.below(4) is asked


def test_a_text_without_a_known_word_has_none() -> None:
    words = QueryWords(np.zeros(0, np.int64), np.zeros((1, 0), np.float32))
    assert words.only([0]).times.shape == (1, 0)

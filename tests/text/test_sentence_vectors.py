"""Vectors of sentences in an array: taken by number."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.text.sentence_vectors import SentenceVectors


def vectors() -> SentenceVectors:
    rows = np.array([0, -1, 1, 2], np.int32)
    array = np.arange(6, dtype=np.float16).reshape(3, 2)
    return SentenceVectors(rows, array, np.zeros(2, np.float32), np.ones(2, np.float32), bodies=2, contexts=3)


def test_sentences_are_taken_by_their_numbers() -> None:
    assert vectors().width == 2
    assert vectors().take(np.array([3, 0, -1, 3])).tolist() == [[4, 5], [0, 1], [0, 0], [4, 5]]
    assert vectors().take(np.array([], np.int64)).shape == (0, 2)


def test_a_sentence_without_a_vector_is_never_read_as_another() -> None:
    with pytest.raises(ValueError, match="1 of the sentences have no vector"):
        vectors().take(np.array([0, 1]))

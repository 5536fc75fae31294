"""The words of some documents, and of the groups that they belong to."""

from __future__ import annotations

import numpy as np

from cocite.corpus.csr import CSR
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.document_words import DocumentWords

INDEX = Bm25Index.build(["chart parsing chart", "neural parsing", "neural chart"])


def test_occurrences_and_lengths_are_counted() -> None:
    words = DocumentWords.of(INDEX, INDEX.query_words(["parsing chart"]), 0, 3)
    order = np.argsort([INDEX.vocabulary["chart"], INDEX.vocabulary["parsing"]])
    np.testing.assert_array_equal(words.times[:, order], [[2, 1], [0, 1], [1, 0]])
    assert words.lengths.tolist() == [3, 2, 2]
    assert DocumentWords.of(INDEX, INDEX.query_words(["unknown"]), 1, 2).times.shape == (1, 0)


def test_groups_hold_the_words_of_all_their_documents() -> None:
    words = DocumentWords.of(INDEX, INDEX.query_words(["chart"]), 0, 3)
    groups, omission = words.omitted(CSR.build([0, 1, 2, 2], [9, 4, 9, 4], 3))
    assert groups.tolist() == [4, 9]
    assert omission.less.ravel().tolist() == [1, 3]
    assert omission.shorter.tolist() == [4, 5]

"""Whether two indexes answer alike, down to the score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import Query
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.anchors import Anchors, window_texts
from cocite.retrieval.signals.citing_sentences import CitingSentences
from cocite.retrieval.signals.neighbours import Neighbours
from cocite.retrieval.signals.self_citations import SelfCitations
from cocite.text.gaps import strip_marks


def assert_same_answers(one: Index, other: Index, queries: list[Query]) -> None:
    """Both indexes retrieve the same papers with the same scores."""
    for retriever in (lambda index: Bm25Retriever(index, "context+title"), CitingSentences, Neighbours):
        a, b = retriever(one).search(queries, 10), retriever(other).search(queries, 10)
        np.testing.assert_array_equal(a.rows, b.rows)
        np.testing.assert_array_equal(a.scores, b.scores)
    np.testing.assert_array_equal(anchor_scores(one, queries), anchor_scores(other, queries))
    np.testing.assert_array_equal(one.cited_by_context.indices, other.cited_by_context.indices)


def anchor_scores(index: Index, queries: list[Query]) -> NDArray[np.float32]:
    """(2, Q, N) scores of the contexts and of the words next to the gap."""
    anchors, own = Anchors(index), SelfCitations(index, queries)
    contexts = index.contexts.count([strip_marks(query.context) for query in queries])
    windows = index.contexts.count(window_texts(queries))
    return np.stack([anchors.scores(contexts, own), anchors.scores(windows, own, near=True)])

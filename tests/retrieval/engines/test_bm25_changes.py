"""Changes of a BM25 index under its statistics: the same as weighing all anew by them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_changes import with_words, without_documents

WORDS = "graph neural parsing chart model".split()
text = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
texts = st.lists(text, min_size=1, max_size=8)


def assert_lists_equal(index: Bm25Index) -> None:
    """The lists that an index was made with are those that its counts give."""
    fresh = index.like(index.vocabulary, index.counts, index.idf).lists
    for name in ("indptr", "rows", "weights"):
        np.testing.assert_array_equal(getattr(index.lists, name), getattr(fresh, name), err_msg=name)
    assert index.lists.documents == len(index)


@given(texts, st.booleans(), st.data())
def test_documents_that_leave_change_nothing_of_the_others(
    documents: list[str], listed: bool, data: st.DataObject
) -> None:
    index = Bm25Index.build(documents)
    before = index.scores(WORDS) if listed else None
    count = len(documents)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
    fewer = without_documents(index, kept)
    assert fewer.has_lists == listed
    assert len(fewer) == kept.sum()
    assert (fewer.mean_length, fewer.vocabulary) == (index.mean_length, index.vocabulary)
    np.testing.assert_array_equal(fewer.lengths, index.lengths[kept])
    np.testing.assert_array_equal(fewer.scores(WORDS), index.scores(WORDS)[:, kept])
    assert before is None or len(before) == len(WORDS)
    assert_lists_equal(fewer)


@given(texts, texts)
def test_documents_that_join_are_merged_into_the_lists(old: list[str], new: list[str]) -> None:
    index = Bm25Index.build(old)
    unlisted = index.append(new)
    assert "lists" not in vars(unlisted)
    assert len(index.lists.indptr) == len(index.vocabulary) + 1
    grown = index.append(new)
    assert grown.has_lists
    assert_lists_equal(grown)
    np.testing.assert_array_equal(grown.scores(WORDS), unlisted.scores(WORDS))


@given(texts, st.data())
def test_words_join_and_leave_documents(documents: list[str], data: st.DataObject) -> None:
    index = Bm25Index.build(documents)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(documents) + 1)))), np.int64)
    columns = len(index.vocabulary) + 1
    more = np.array(
        [data.draw(st.lists(st.integers(0, 3), min_size=columns, max_size=columns)) for _ in rows], np.int32
    ).reshape(len(rows), columns)
    count = len(documents) + 2
    changed = with_words(index, rows, sp.csr_matrix(more), count=count)
    expected = np.zeros((count, columns), np.int64)
    expected[: len(documents), : columns - 1] = index.counts.matrix().toarray()
    expected[rows] += more
    np.testing.assert_array_equal(changed.counts.matrix().toarray(), expected)
    np.testing.assert_array_equal(changed.lengths, expected.sum(axis=1))
    np.testing.assert_array_equal(changed.idf[:-1], index.idf)
    assert changed.idf[-1] == pytest.approx(
        np.log1p((count - (more[:, -1] > 0).sum() + 0.5) / ((more[:, -1] > 0).sum() + 0.5))
    )
    back = with_words(changed, rows, sp.csr_matrix(-more))
    assert back.counts.matrix().nnz == index.counts.matrix().nnz
    np.testing.assert_array_equal(back.scores(WORDS)[:, : len(documents)], index.scores(WORDS))


def test_a_count_may_grow_beyond_all_codes() -> None:
    index = Bm25Index.build(["graph", "chart"])
    grown = with_words(index, np.array([1]), sp.csr_matrix(np.array([[0, 70_000]])))
    assert grown.counts.matrix().toarray().tolist() == [[1, 0], [0, 70_001]]

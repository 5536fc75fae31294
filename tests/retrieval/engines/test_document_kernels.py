"""Packed word counts: codes, merging, and scores against plain sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cocite.retrieval.engines import document_kernels
from cocite.retrieval.engines.packed_counts import OF_CODE, FieldCounts, PackedCounts


def test_each_code_stands_for_one_pair_of_counts() -> None:
    pairs = [(outer, inner) for outer in range(25) for inner in range(25)]
    coded = {pair: document_kernels.code_of(*pair) for pair in pairs if pair != (0, 0)}
    common = {pair: code for pair, code in coded.items() if code != document_kernels.RARE}
    assert sorted(common.values()) == list(range(255))
    assert common == {(int(OF_CODE[0][code]), int(OF_CODE[1][code])): code for code in range(255)}
    assert all(inner > outer or (outer, inner) >= (22, 3) for outer, inner in coded.keys() - common.keys())


@given(st.data())
def test_documents_score_alike_whichever_way_they_are_read(data: st.DataObject) -> None:
    """A long document is searched for each word of the query, a short one read from end to end."""
    words = 400
    length = data.draw(st.integers(1, 380))
    rng = np.random.default_rng(length)
    held = np.sort(rng.choice(words, length, replace=False)).astype(np.int32)
    counts = np.zeros((2, 1, words), np.int32)
    counts[0, 0, held] = rng.integers(1, data.draw(st.sampled_from([5, 400])), length)
    counts[1, 0, held[::3]] = rng.integers(1, 5, len(held[::3]))
    outer, inner = (sp.csr_matrix(field) for field in counts)
    packed = PackedCounts.of([(outer, inner)], words)
    idf = rng.uniform(0.1, 3, words)
    asked = np.array(sorted(data.draw(st.sets(st.integers(0, words - 1), min_size=1, max_size=40))), np.int64)
    times = rng.integers(0, 3, (len(asked), 2)).astype(np.float32)
    for tf, field in zip(counts[:, 0], (packed.outer, packed.inner), strict=True):
        present = np.zeros(words // 64 + 1, np.uint64)
        result, slots = np.zeros((2, 2), np.float32), np.zeros(words, np.int32)
        document_kernels.score_documents(
            *(*field.arrays, idf, 100.0, 1.2, 0.75),
            *(np.array([0, -1]), np.zeros((0, 0), np.float32), np.zeros(0, np.float32)),
            *(asked, times, slots, present, result),
        )
        weight = idf * tf / (tf + 1.2 * (0.25 + 0.75 * tf.sum() / 100.0))
        np.testing.assert_allclose(result[:, 0], weight[asked] @ times, rtol=1e-5)
        assert not result[:, 1].any()
        assert not present.any()


def test_a_document_scores_as_if_it_lacked_some_words() -> None:
    whole = FieldCounts.of(sp.csr_matrix(np.array([[3, 2, 4]])))
    part = FieldCounts.of(sp.csr_matrix(np.array([[0, 1, 4]])))
    more = (np.array([[3, 1]], np.float32), np.array([4], np.float32))
    nothing = (np.zeros((0, 0), np.float32), np.zeros(0, np.float32))
    assert score(whole, *more) == score(part, *nothing) > 0


def score(counts: FieldCounts, less: np.ndarray, shorter: np.ndarray) -> float:
    result = np.zeros((1, 1), np.float32)
    document_kernels.score_documents(
        *(*counts.arrays, np.array([1.0, 2.0, 3.0]), 4.0, 1.2, 0.75, np.array([0]), less, shorter),
        *(np.array([0, 1]), np.ones((2, 1), np.float32), np.zeros(3, np.int32), np.zeros(1, np.uint64)),
        result,
    )
    return float(result[0, 0])


@pytest.mark.parametrize("bits", [np.uint32, np.uint64])
def test_words_up_to_the_last_one_that_fits_are_told_apart(bits: Any) -> None:
    last = 2**24 - 1 if bits == np.uint32 else 2**31 - 1
    field = tuple(
        np.array(part, of) for part, of in (([0, 2], np.int64), ([1, last], np.int32), ([7, 255], np.int32))
    )
    nothing = tuple(np.zeros(size, of) for size, of in ((2, np.int64), (0, np.int32), (0, np.int32)))
    documents = np.zeros(1, [("start", "<i8"), ("outer", "<i4"), ("inner", "<i4")])
    entries, rare = np.zeros(2, bits), np.zeros(2, [("at", "<i8"), ("outer", "<i4"), ("inner", "<i4")])
    for arrays in (field, nothing):
        for array in arrays:
            array.flags.writeable = False
    assert document_kernels.pack(field, nothing, 0, 1, entries, documents, rare) == (2, 1)
    assert (entries >> np.array(8, bits)).tolist() == [1, last]
    assert (documents.tolist(), rare[:1].tolist()) == ([(0, 262, 0)], [(1, 255, 0)])

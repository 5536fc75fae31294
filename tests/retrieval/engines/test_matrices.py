"""Sparse matrices: against dense ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cocite.retrieval.engines import matrices

counts = hnp.arrays(
    np.int32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(0, 3)
)


@given(counts)
def test_counted_words_are_the_counts(dense: np.ndarray) -> None:
    numbers = [np.repeat(np.arange(dense.shape[1]), row)[::-1] for row in dense]  # in any order
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in numbers])])
    matrix = matrices.counted(np.concatenate(numbers).astype(np.int32), indptr, columns=dense.shape[1])
    np.testing.assert_array_equal(matrix.toarray(), dense)
    assert matrix.has_sorted_indices


@given(counts, st.data())
def test_entries_of_rows(dense: np.ndarray, data: st.DataObject) -> None:
    rows = np.array(data.draw(st.lists(st.integers(0, len(dense) - 1), max_size=5)), np.int64)
    matrix = sp.csr_matrix(dense)
    owner, position = matrices.entries(matrix, rows)
    result = np.zeros((len(rows), dense.shape[1]), np.int32)
    result[owner, matrix.indices[position]] = matrix.data[position]
    np.testing.assert_array_equal(result, dense[rows])


@given(counts, st.integers(0, 3))
def test_larger_matrices_are_padded_and_share_their_data(dense: np.ndarray, more: int) -> None:
    matrix = sp.csr_matrix(dense)
    wide = matrices.widened(matrix, dense.shape[1] + more)
    high = matrices.heightened(matrix, len(dense) + more)
    np.testing.assert_array_equal(wide.toarray(), np.pad(dense, ((0, 0), (0, more))))
    np.testing.assert_array_equal(high.toarray(), np.pad(dense, ((0, more), (0, 0))))
    assert not matrix.nnz or (
        np.shares_memory(wide.data, matrix.data) and np.shares_memory(high.data, matrix.data)
    )


def test_saved_and_loaded_a_matrix_is_the_same_and_mapped(tmp_path: Path) -> None:
    matrix = sp.csr_matrix(np.array([[1, 0, 2], [0, 0, 0]], np.int32))
    matrices.save(tmp_path, "counts", matrix)
    loaded = matrices.load(tmp_path, "counts", (2, 3))
    np.testing.assert_array_equal(loaded.toarray(), matrix.toarray())
    assert not loaded.data.flags.writeable
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "counts.data.npy", "counts.indices.npy", "counts.indptr.npy",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="index pointer size"):
        matrices.load(tmp_path, "counts", (5, 3))

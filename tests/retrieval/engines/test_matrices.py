"""Sparse matrices: against dense ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
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


@given(counts, st.integers(0, 3))
def test_wider_matrices_are_padded_and_share_their_data(dense: np.ndarray, more: int) -> None:
    matrix = sp.csr_matrix(dense)
    wide = matrices.widened(matrix, dense.shape[1] + more)
    np.testing.assert_array_equal(wide.toarray(), np.pad(dense, ((0, 0), (0, more))))
    assert not matrix.nnz or np.shares_memory(wide.data, matrix.data)


def test_saved_arrays_are_mapped_and_cannot_be_written(tmp_path: Path) -> None:
    matrices.save_parts(tmp_path, "lists", ("rows", "weights"), (np.arange(3), np.ones(2)))
    rows, weights = matrices.load_parts(tmp_path, "lists", ("rows", "weights"))
    assert (rows.tolist(), weights.tolist()) == ([0, 1, 2], [1.0, 1.0])
    assert not rows.flags.writeable
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lists.rows.npy", "lists.weights.npy"]

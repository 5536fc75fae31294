"""Sparse matrices in the few forms that BM25 needs, and the files of several arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.artifacts import load_array


def counted(numbers: NDArray[np.int32], indptr: NDArray[np.int64], *, columns: int) -> sp.csr_matrix:
    """(texts, columns) how often each number occurs in each text; columns ascend within a row.

    The caller must not use the two arrays again: the matrix is made in their memory.

    Example:
        >>> numbers, indptr = np.array([2, 0, 2, 1], np.int32), np.array([0, 3, 4])
        >>> counted(numbers, indptr, columns=3).toarray()
        array([[1, 0, 2],
               [0, 1, 0]], dtype=int32)
    """
    counts = np.ones(len(numbers), np.int32)
    shape = (len(indptr) - 1, columns)
    matrix = sp.csr_matrix((counts, numbers, indptr), shape=shape)
    matrix.sum_duplicates()
    return matrix


def widened(matrix: sp.csr_matrix, columns: int) -> sp.csr_matrix:
    """The same matrix with empty columns appended; shares its data."""
    return sp.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], columns))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to: compiled code then has one form for arrays in memory and mapped ones."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def sorted_rows(parts: tuple[NDArray[Any], ...], shape: tuple[int, int]) -> sp.csr_matrix:
    """The matrix of three arrays, ``data``, ``indices`` and ``indptr``, whose columns ascend within each row."""
    matrix = sp.csr_matrix(parts, shape=shape, copy=False)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix


def save_parts(folder: Path, name: str, parts: Sequence[str], arrays: Sequence[NDArray[Any]]) -> None:
    """Write each array as ``{name}.{part}.npy``."""
    for part, array in zip(parts, arrays, strict=True):
        np.save(folder / f"{name}.{part}.npy", array)


def load_parts(folder: Path, name: str, parts: Sequence[str]) -> tuple[NDArray[Any], ...]:
    """Memory-map what :func:`save_parts` wrote."""
    return tuple(load_array(folder / f"{name}.{part}.npy").view(np.ndarray) for part in parts)

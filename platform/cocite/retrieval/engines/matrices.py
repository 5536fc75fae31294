"""Sparse matrices in the few forms that BM25 needs, saved as plain NumPy files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.artifacts import load_array

_PARTS = ("data", "indices", "indptr")


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


def entries(matrix: sp.csr_matrix, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the entries of several rows lie in a matrix' arrays.

    Returns:
        ``(owner, position)``: entry ``position[i]`` of ``indices`` and ``data`` belongs to row ``rows[owner[i]]``.
    """
    starts = matrix.indptr[rows].astype(np.int64)
    lengths = matrix.indptr[rows + 1] - starts
    owner = np.repeat(np.arange(len(rows)), lengths)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return owner, np.repeat(starts, lengths) + offset


def widened(matrix: sp.csr_matrix, columns: int) -> sp.csr_matrix:
    """The same matrix with empty columns appended; shares its data."""
    return sp.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], columns))


def heightened(matrix: sp.csr_matrix, rows: int) -> sp.csr_matrix:
    """The same matrix with empty rows appended; shares its data."""
    indptr = np.concatenate([matrix.indptr, np.full(rows - matrix.shape[0], matrix.indptr[-1])])
    return sp.csr_matrix((matrix.data, matrix.indices, indptr), shape=(rows, matrix.shape[1]))


def replaced(matrix: sp.csr_matrix, rows: NDArray[np.int64], new: sp.csr_matrix) -> sp.csr_matrix:
    """The same matrix with other rows ``new`` (k, columns) in the place of some distinct ``rows`` (k,).

    Example:
        >>> matrix = sp.csr_matrix(np.array([[1, 0], [2, 3], [0, 4]]))
        >>> replaced(matrix, np.array([1]), sp.csr_matrix(np.array([[0, 9]]))).toarray()
        array([[1, 0],
               [0, 9],
               [0, 4]])
    """
    order = np.arange(matrix.shape[0])
    order[rows] = np.arange(matrix.shape[0], matrix.shape[0] + len(rows))
    return sp.csr_matrix(sp.vstack([matrix, new], format="csr")[order])


def narrowed(matrix: sp.csr_matrix) -> sp.csr_matrix:
    """The same counts in two bytes each where they fit, in four otherwise; read-only.

    Example:
        >>> counts = sp.csr_matrix(np.array([[1, 0, 2]], np.int64))
        >>> narrowed(counts).dtype, narrowed(counts * 70_000).dtype
        (dtype('uint16'), dtype('int32'))
    """
    # Counts that are in two bytes already, such as an opened index', are not read.
    fits = matrix.dtype == np.uint16 or not matrix.nnz or int(matrix.data.max()) <= np.iinfo(np.uint16).max
    data = matrix.data.astype(np.uint16 if fits else np.int32, copy=False)
    return _sorted(tuple(map(read_only, (data, matrix.indices, matrix.indptr))), matrix.shape)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to: compiled code then has one form for arrays in memory and mapped ones."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def _sorted(parts: tuple[NDArray[Any], ...], shape: tuple[int, int]) -> sp.csr_matrix:
    matrix = sp.csr_matrix(parts, shape=shape, copy=False)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix


def save(folder: Path, name: str, matrix: sp.csr_matrix) -> None:
    """Write ``{name}.data.npy``, ``{name}.indices.npy`` and ``{name}.indptr.npy``."""
    save_parts(folder, name, _PARTS, [getattr(matrix, part) for part in _PARTS])


def load(folder: Path, name: str, shape: tuple[int, int]) -> sp.csr_matrix:
    """Memory-map what :func:`save` wrote; raises ValueError where the parts do not fit together."""
    return _sorted(load_parts(folder, name, _PARTS), shape)


def save_parts(folder: Path, name: str, parts: Sequence[str], arrays: Sequence[NDArray[Any]]) -> None:
    """Write each array as ``{name}.{part}.npy``."""
    for part, array in zip(parts, arrays, strict=True):
        np.save(folder / f"{name}.{part}.npy", array)


def load_parts(folder: Path, name: str, parts: Sequence[str]) -> tuple[NDArray[Any], ...]:
    """Memory-map what :func:`save_parts` wrote."""
    return tuple(load_array(folder / f"{name}.{part}.npy").view(np.ndarray) for part in parts)

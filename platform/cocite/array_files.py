"""NumPy files that are written a block at a time, for arrays that need not fit into memory."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from cocite.errors import IntegrityError
from cocite.write_errors import writing_to

_LONGEST = 2**63 - 1
_BLOCK = 1 << 14
"""Rows that are made at a time."""


def _header(dtype: np.dtype[Any], length: int) -> bytes:
    """The header of a file of some values; NumPy pads it, so that it has the same size for every length."""
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        text, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    )
    return text.getvalue()


class ArrayWriter:
    """Writes a one-dimensional array of unknown length to a ``.npy`` file.

    The file can be read once the block that writes it has ended. It is not renamed into place: write into the
    temporary folder of :func:`cocite.artifacts.publish`.

    Args:
        path: of the file.
        dtype: of its values; what is added is cast to it.

    Attributes:
        length: values written so far.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with ArrayWriter(Path(folder, "counts.npy"), np.int32) as writer:
        ...         writer.add([3, 4])
        ...         writer.add(np.array([5]))
        ...     np.load(Path(folder, "counts.npy"), allow_pickle=False)
        array([3, 4, 5], dtype=int32)
    """

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.length = 0
        self._file = Path(path).open("wb")  # noqa: SIM115 closed at the end of the block
        self._file.write(_header(self.dtype, _LONGEST))

    def __enter__(self) -> ArrayWriter:
        return self

    def add(self, values: ArrayLike) -> None:
        """Append values, (n,)."""
        block = np.ascontiguousarray(values, self.dtype)
        self._file.write(block.data)
        self.length += len(block)

    def __exit__(self, *_: object) -> None:
        with self._file:
            self._file.seek(0)
            self._file.write(_header(self.dtype, self.length))


class RunWriter:
    """Writes runs of values one behind the other: ``NAME.npy``, and where each run begins in ``NAME.indptr.npy``.

    Args:
        folder: of the files.
        name: of the files.
        dtype: of the values.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with RunWriter(Path(folder), "tokens", np.uint16) as writer:
        ...         writer.add(np.array([7, 8, 9]), np.array([2, 1]))
        ...         writer.add(np.array([5]), np.array([1]))
        ...     np.load(Path(folder, "tokens.indptr.npy"), allow_pickle=False)
        array([0, 2, 3, 4])
    """

    def __init__(self, folder: Path, name: str, dtype: DTypeLike) -> None:
        self.values = ArrayWriter(Path(folder, f"{name}.npy"), dtype)
        self.indptr = ArrayWriter(Path(folder, f"{name}.indptr.npy"), np.int64)
        self.indptr.add([0])

    def __enter__(self) -> RunWriter:
        return self

    def add(self, values: ArrayLike, lengths: ArrayLike) -> None:
        """Append runs: all their values, and (n,) the length of each."""
        self.indptr.add(self.values.length + np.cumsum(np.asarray(lengths, np.int64)))
        self.values.add(values)

    def __exit__(self, *_: object) -> None:
        self.values.__exit__()
        self.indptr.__exit__()


def scratch_array(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Zeros in a file without a name: the system writes them there when the memory is needed otherwise.

    The file is in the system's temporary folder (``TMPDIR``), which is of use where that is on a disk, and is gone with
    the array.

    Args:
        shape: of the array; one without values takes no file.
        dtype: of the values.

    Raises:
        WriteError: there is no space for it.

    Example:
        >>> order = scratch_array(3, np.int64)
        >>> order[:] = [4, 5, 6]
        >>> order
        array([4, 5, 6])
    """
    values = int(np.prod(shape))
    if not values:
        return np.zeros(shape, dtype)
    folder = tempfile.gettempdir()
    hint = "free some space, or let TMPDIR name another folder"
    with writing_to(folder, hint=hint), tempfile.TemporaryFile(dir=folder) as file:
        # Space is taken now: a write to a mapped page that finds none would end the process.
        os.posix_fallocate(file.fileno(), 0, values * np.dtype(dtype).itemsize)
        return np.asarray(np.memmap(file, dtype, "r+", shape=shape))


def scratch_rows(
    rows: slice, dtype: DTypeLike, make: Callable[[slice], NDArray[Any]], *width: int
) -> NDArray[Any]:
    """Some rows of an array that is made a block at a time, in a file as :func:`scratch_array` makes it.

    Args:
        rows: which, from ``start`` to ``stop - 1``.
        dtype: of the values.
        make: gives some of the rows.
        width: the shape of a row.

    Example:
        >>> scratch_rows(slice(2, 5), np.int32, lambda block: 10 * np.arange(block.start, block.stop))
        array([20, 30, 40], dtype=int32)
    """
    result = scratch_array((rows.stop - rows.start, *width), dtype)
    for start in range(rows.start, rows.stop, _BLOCK):
        block = slice(start, min(start + _BLOCK, rows.stop))
        result[start - rows.start : block.stop - rows.start] = make(block)
    return result


def scratch_numbers(start: int, stop: int, dtype: DTypeLike = np.int64) -> NDArray[Any]:
    """The numbers from ``start`` to ``stop - 1``, in a file as :func:`scratch_array` makes it.

    Example:
        >>> scratch_numbers(4, 7, np.int32)
        array([4, 5, 6], dtype=int32)
    """
    return scratch_rows(slice(start, stop), dtype, lambda block: np.arange(block.start, block.stop))


def token_dtype(tokens: int) -> np.dtype[Any]:
    """The type of token numbers below ``tokens``: two bytes hold any usual vocabulary, four any other.

    Example:
        >>> token_dtype(60_000), token_dtype(400_000)
        (dtype('uint16'), dtype('int32'))
    """
    return np.dtype(np.uint16 if tokens <= 1 << 16 else np.int32)


def require_fit(fits: bool, folder: Path, *, of: str = "", to: str = "each other") -> None:
    """Refuse the arrays of a folder whose lengths contradict each other.

    Args:
        fits: whether they fit.
        folder: of the arrays.
        of: which of its arrays, where there are several groups.
        to: what they are to fit.

    Raises:
        IntegrityError: they do not fit.

    Example:
        >>> require_fit(len([3, 4]) == 3, Path("texts"), of="abstracts")
        Traceback (most recent call last):
        cocite.errors.IntegrityError: texts: the arrays of abstracts do not fit each other (make them anew)
    """
    if not fits:
        arrays = f"the arrays of {of}" if of else "the arrays"
        raise IntegrityError(f"{arrays} do not fit {to}", where=str(folder), hint="make them anew")

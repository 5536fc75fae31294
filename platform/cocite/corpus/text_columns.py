"""Cleans columns of texts as :mod:`cocite.corpus.cleaning` cleans one text, and marks those that break a rule."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.cleaning import repair


def cleaned(column: pa.Array, limit: int) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Texts as the rules leave them, and which of them break one.

    Args:
        column: (n,) strings; null counts as empty.
        limit: characters of a text, at most.

    Returns:
        ``(texts, broken)``: composed and without outer white space, and (n,) whether a text holds broken characters or
        is longer than the limit; what stands in its place is of no use.

    Example:
        >>> import pyarrow as pa
        >>> from cocite.corpus.text_columns import cleaned
        >>> texts, broken = cleaned(pa.array(["a", " nai\\u0308ve ", None, "bad\\u0000", "too long"]), 7)
        >>> texts.to_pylist()[:3], broken.tolist()
        (['a', 'naïve', ''], [False, False, False, True, True])
    """
    if column.null_count:
        column = pc.fill_null(column, "")
    starts, data = _bytes_of(column)
    broken = np.zeros(len(column), bool)
    unusual = _with_odd_bytes(starts, data) | _with_outer_space(starts, data) | (np.diff(starts) > limit)
    rows = np.flatnonzero(unusual)
    if not len(rows):
        return column, broken
    fixed = []
    for row, text in zip(rows.tolist(), column.take(pa.array(rows)).to_pylist(), strict=True):
        whole, is_broken = repair(text)
        broken[row] = is_broken or len(whole) > limit
        fixed.append(whole.strip())
    return pc.replace_with_mask(column, pa.array(unusual), pa.array(fixed, pa.string())), broken


def is_plain_id(column: pa.Array) -> NDArray[np.bool_]:
    """Which strings are ids that need no cleaning: printable ASCII, not empty, and without outer white space."""
    if column.null_count:
        column = pc.fill_null(column, "")
    starts, data = _bytes_of(column)
    unusual = _with_odd_bytes(starts, data) | _with_outer_space(starts, data)
    return np.asarray(~unusual & (np.diff(starts) > 0))


def _bytes_of(column: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where each string begins, with the last one's end; and the bytes of all of them."""
    _, offsets, data = column.buffers()
    if offsets is None or not len(column):
        return np.zeros(len(column) + 1, np.int32), np.empty(0, np.uint8)
    starts = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return starts - starts[0], bytes_[starts[0] : starts[-1]]


def _with_odd_bytes(starts: NDArray[np.int32], data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which strings have bytes that are not printable ASCII."""
    result = np.zeros(len(starts) - 1, bool)
    # What is below the space wraps round, and lies above all that is printable.
    odd = np.flatnonzero((data - np.uint8(0x20)) > 0x7E - 0x20)
    if len(odd):
        result[np.searchsorted(starts, odd, side="right") - 1] = True
    return result


def _with_outer_space(starts: NDArray[np.int32], data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which strings begin or end with a space; other white space is odd."""
    filled = np.diff(starts) > 0
    result = np.zeros(len(filled), bool)
    space = ord(" ")
    result[filled] = (data[starts[:-1][filled]] == space) | (data[starts[1:][filled] - 1] == space)
    return result

"""Writes compressed sparse rows from more pairs than fit in memory: a bucket sort on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import distinct
from cocite.corpus.spill import NpyWriter, PairFile

BLOCK = 1 << 18
"""Pairs read at a time."""
BUCKET = 1 << 20
"""Pairs sorted at a time (but never more than ``MAX_BUCKETS`` files are open)."""
MAX_BUCKETS = 200

_ONE = np.int32(1)
"""What degrees grow by, in their own type: a Python integer makes ``np.add.at`` cast, some thirty times slower."""

PAIR = np.dtype([("row", "<i4"), ("entry", "<i4")])
WEIGHTED = np.dtype([("row", "<i4"), ("entry", "<i4"), ("weight", "<i4")])


def bucket_limits(
    degrees: NDArray[np.integer], bucket: int = BUCKET, most: int = MAX_BUCKETS
) -> NDArray[np.int64]:
    """Limits of ranges of rows with about ``bucket`` pairs each.

    Args:
        degrees: (N,) pairs of each row.
        bucket: pairs of a range, unless that makes more than ``most``.
        most: ranges, at most.

    Returns:
        Ascending row numbers: range b holds the rows from ``limits[b - 1]`` (0 for the first) up to ``limits[b]``.
    """
    ends = np.cumsum(degrees, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    size = max(bucket, -(-total // most))
    return np.unique(np.append(np.searchsorted(ends, np.arange(size, total, size)) + 1, len(degrees)))


def write_csr(
    pairs: PairFile,
    count: int,
    folder: Path,
    name: str,
    *,
    scratch: Path,
    flip: bool = False,
    bucket: int = BUCKET,
) -> int:
    """Write ``{name}.indptr.npy`` and ``{name}.indices.npy``: rows' distinct entries, ascending.

    Args:
        pairs: records of ``PAIR``, or of ``WEIGHTED``: then ``{name}.counts.npy`` gets the sum over equal pairs.
        count: number of rows.
        folder: the arrays are written here.
        name: first part of their names.
        scratch: a folder for the buckets while they are sorted.
        flip: take ``entry`` as the row and ``row`` as the entry.
        bucket: pairs sorted in memory at a time.

    Returns:
        The number of distinct pairs. Memory is 16 bytes a row and some tens of bytes a pair of one bucket.
    """
    row, entry = ("entry", "row") if flip else ("row", "entry")
    weighted = "weight" in (pairs.dtype.names or ())
    degrees = np.zeros(count, np.int32)
    for block in pairs.blocks(BLOCK):
        np.add.at(degrees, block[row], _ONE)
    limits = bucket_limits(degrees, bucket)
    files = [PairFile(scratch / f"{name}-{b}.bucket", pairs.dtype) for b in range(len(limits))]
    for block in pairs.blocks(BLOCK):
        owner = np.searchsorted(limits, block[row], side="right")
        order = np.argsort(owner, kind="stable")
        cuts = np.searchsorted(owner[order], np.arange(len(files) + 1))
        for b in np.unique(owner).tolist():
            part = block[order[cuts[b] : cuts[b + 1]]]
            files[b].write(*(part[field] for field in pairs.dtype.names or ()))
    indices = NpyWriter(folder / f"{name}.indices.npy", np.int32)
    counts = NpyWriter(folder / f"{name}.counts.npy", np.int32) if weighted else None
    degrees[:] = 0
    for file in files:
        blocks = list(file.blocks(max(file.count, 1)))
        file.drop()
        if not blocks:
            continue
        part = blocks[0]
        keys = (part[row].astype(np.int64) << 32) | part[entry].astype(np.int64)
        if counts is None:
            keys = distinct(keys)
        else:
            keys, inverse = np.unique(keys, return_inverse=True)
            counts.write(np.bincount(inverse, weights=part["weight"], minlength=len(keys)))
        indices.write(keys & 0xFFFFFFFF)
        np.add.at(degrees, keys >> 32, _ONE)
    indices.close()
    if counts is not None:
        counts.close()
    indptr = np.zeros(count + 1, np.int64)
    np.cumsum(degrees, out=indptr[1:])
    np.save(folder / f"{name}.indptr.npy", indptr)
    return indices.count

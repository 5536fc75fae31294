"""A stable sort of small keys whose result lies in a file instead of the memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import scratch_array

BLOCK = 1 << 18
"""Keys sorted at a time."""


def counting_sort(
    keys: NDArray[np.integer[Any]], kinds: int, *, least: int = 0
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The positions of some keys in the order of the keys; those of equal keys ascend.

    The positions lie in a temporary file, 4 bytes each; in memory are a block of the keys, and 8 bytes a kind.

    Args:
        keys: (n,) from ``least`` to ``least + kinds - 1``; may be memory-mapped. n is below 2^31.
        kinds: how many keys there may be.
        least: the smallest.

    Returns:
        (n,) the positions, and (kinds,) where among them those of each key end.

    Example:
        >>> order, ends = counting_sort(np.array([2003, 2001, 2003]), 4, least=2000)
        >>> order, ends
        (array([1, 0, 2], dtype=int32), array([0, 1, 1, 3]))
    """
    blocks = [slice(start, start + BLOCK) for start in range(0, len(keys), BLOCK)]
    counts = np.zeros(kinds, np.int64)
    for block in blocks:
        counts += np.bincount(keys[block].astype(np.int64) - least, minlength=kinds)
    ends = np.cumsum(counts)
    begins = ends - counts
    order = scratch_array(len(keys), np.int32)
    for block in blocks:
        own = keys[block].astype(np.int64) - least
        ascending = np.argsort(own, kind="stable")
        key, first, many = np.unique(own[ascending], return_index=True, return_counts=True)
        within = np.arange(len(own)) - np.repeat(first, many)
        order[np.repeat(begins[key], many) + within] = block.start + ascending
        begins[key] += many
    return order, ends

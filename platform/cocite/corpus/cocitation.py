"""Co-citations: papers that one context cites together, as MP-BERT4CR counts them (its section 4.1.3, *co-citation
frequencies*): each group of citations at one place of a text counts each pair of its members once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR


def ordered_pairs(groups: CSR) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Every ordered pair (a, b), a != b, of each group's members; a group of g gives g (g - 1)."""
    sizes = groups.degrees.astype(np.int64)
    several = np.flatnonzero(sizes > 1)
    sizes, starts = sizes[several], np.asarray(groups.indptr)[several]
    # Cell c of a g x g square stands for the pair (c // g, c % g); the diagonal is left out.
    group = np.repeat(np.arange(len(several)), sizes * sizes)
    cell = np.arange(len(group)) - np.repeat(np.cumsum(sizes * sizes) - sizes * sizes, sizes * sizes)
    left, right = cell // sizes[group], cell % sizes[group]
    keep = left != right
    start = starts[group[keep]]
    return groups.indices[start + left[keep]], groups.indices[start + right[keep]]


def count_pairs(groups: CSR, count: int) -> tuple[CSR, NDArray[np.int32]]:
    """The papers that each of ``count`` papers is cited with, ascending, and how often (aligned with ``indices``)."""
    left, right = ordered_pairs(groups)
    keys, times = np.unique((left.astype(np.int64) << 32) | right.astype(np.int64), return_counts=True)
    indptr = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(keys >> 32, minlength=count), out=indptr[1:])
    return CSR(indptr, (keys & 0xFFFFFFFF).astype(np.int32)), times.astype(np.int32)

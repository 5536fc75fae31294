"""The nearest papers of dev queries while the papers are encoded: the vectors of all papers are never in memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Ranking
from cocite.sampling.neighbours import nearest
from cocite.training.engine.world import World

BLOCK = 1 << 16
"""Papers encoded and compared at a time."""
QUERIES = 1024
"""Queries whose rankings are merged at a time."""


def nearest_encoded(
    queries: NDArray[np.float32],
    encode: Callable[[NDArray[np.int32]], NDArray[np.float32]],
    papers: int,
    k: int,
    *,
    exclude: NDArray[np.int32],
    world: World,
    block: int = BLOCK,
) -> Ranking:
    """The ``k`` papers of the greatest inner product, as :func:`~cocite.sampling.neighbours.nearest` finds them.

    Each rank encodes its share of the papers, a block at a time, and keeps the best of each query. All ranks call it
    together, with the same queries, and have the same ranking.

    Args:
        queries: (Q, d).
        encode: computes (n, d) vectors of papers, given their rows; on each rank for itself.
        papers: how many there are.
        k: how many are found.
        exclude: (Q,) a row that is no neighbour of each query, or ``NO_ROW``.
        world: the ranks that share the papers.
        block: papers encoded at a time.

    Returns:
        (Q, k) papers and inner products; k is at most the number of papers.

    Example:
        >>> vectors = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
        >>> own = np.arange(3, dtype=np.int32)
        >>> found = nearest_encoded(
        ...     vectors[:3], lambda rows: vectors[rows], 500, 10, exclude=own, world=World(), block=64)
        >>> np.array_equal(found.rows, nearest(vectors[:3], vectors, 10, exclude=own).rows)
        True
    """
    shape = (len(queries), min(k, papers))
    rows, scores = np.full(shape, NO_ROW, np.int32), np.full(shape, -np.inf, np.float32)
    mine = world.share(papers)
    for start in range(mine.start, mine.stop, block):
        numbers = np.arange(start, min(start + block, mine.stop), dtype=np.int32)
        vectors = encode(numbers)
        is_here = (exclude >= start) & (exclude <= numbers[-1])
        own = np.where(is_here, exclude - start, NO_ROW).astype(np.int32)
        # Encoding may multiply in bf16; in the comparison many papers would be equally near.
        with torch.autocast(world.device.type, enabled=False):
            found = nearest(queries, vectors, k, exclude=own, device=world.device)
        there = np.where(found.rows == NO_ROW, NO_ROW, found.rows + start)
        _merge(rows, scores, there, found.scores)
    return _merged(rows, scores, world)


def _merge(
    rows: NDArray[np.int32],
    scores: NDArray[np.float32],
    others: NDArray[np.int32],
    theirs: NDArray[np.float32],
) -> None:
    """Keep the best of two rankings (Q, k) and (Q, m) in the first; of equal papers the first ranking's stand first."""
    for start in range(0, len(rows), QUERIES):
        part = slice(start, start + QUERIES)
        both_rows = np.concatenate([rows[part], others[part]], axis=1)
        both = np.concatenate([scores[part], theirs[part]], axis=1)
        order = np.argsort(-both, axis=1, kind="stable")[:, : rows.shape[1]]
        rows[part] = np.take_along_axis(both_rows, order, 1)
        scores[part] = np.take_along_axis(both, order, 1)


def _merged(rows: NDArray[np.int32], scores: NDArray[np.float32], world: World) -> Ranking:
    """The best of all ranks' rankings, on every rank; one rank's is exchanged at a time."""
    if world.size == 1:
        return Ranking(rows, scores)
    best = np.full_like(rows, NO_ROW), np.full_like(scores, -np.inf)
    for rank in range(world.size):
        # Only this rank's own are sent: what the others give is overwritten.
        sent = [torch.from_numpy(array).clone().to(world.device) for array in (rows, scores)]
        others, theirs = (world.spread(tensor, rank).cpu().numpy() for tensor in sent)
        _merge(*best, others, theirs)
    return Ranking(*best)

"""Nearest neighbours in an embedding space, and the papers that they cite, as candidates."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Ranking

WORKSPACE = 1 << 25
"""Most similarities in memory at a time."""


def nearest(
    queries: NDArray[np.float32],
    vectors: NDArray[np.float32] | Tensor,
    k: int,
    *,
    exclude: NDArray[np.int32] | None = None,
    pool: NDArray[np.int32] | None = None,
    latest: NDArray[np.int16] | None = None,
    years: NDArray[np.int16] | None = None,
    block: int | None = None,
    device: torch.device | None = None,
    half: bool = False,
) -> Ranking:
    """The ``k`` papers of the greatest inner product, by exhaustive search.

    Args:
        queries: (Q, d).
        vectors: (N, d), one a paper; where they are searched often, a tensor on the device.
        exclude: (Q,) a row that is no neighbour of each query (its own paper), or ``NO_ROW``.
        pool: rows that may be neighbours; None: all.
        latest: (Q,) the last year of each query's neighbours, given the (N,) ``years`` of all papers.
        block: queries compared at a time; None: as many as 128 MiB take (N floats each).
        device: computes the inner products; None: the CPU.
        half: whether twice ``k`` papers are found in fp16, of which fp32 decides: for a device that multiplies fp16
            matrices faster.

    Returns:
        (Q, k) papers and inner products; k is at most the number of candidates.

    Example:
        >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
        >>> ranking = nearest(vectors[:1], vectors, k=2, exclude=np.array([0], np.int32))
        >>> ranking.rows, ranking.scores
        (array([[1, 2]], dtype=int32), array([[0.8, 0. ]], dtype=float32))
    """
    device = device or torch.device("cpu")
    candidates = torch.as_tensor(vectors if pool is None else vectors[pool]).to(device)  # (M, d)
    compared = candidates.half() if half else candidates
    k = min(k, len(candidates))
    block = block or max(1, min(512, WORKSPACE // max(len(candidates), 1)))
    rows = np.full((len(queries), k), NO_ROW, np.int32)
    scores = np.full((len(queries), k), -np.inf, np.float32)
    column = None
    if pool is not None:
        column = np.full(len(vectors), -1, np.int64)
        column[pool] = np.arange(len(pool))
    candidate_years = None
    if latest is not None and years is not None:
        candidate_years = torch.from_numpy(np.array(years if pool is None else years[pool])).to(device)
    for start in range(0, len(queries), block):
        part = slice(start, min(start + block, len(queries)))
        wanted = torch.from_numpy(queries[part]).to(device)  # (b, d)
        similar = (wanted.half() if half else wanted) @ compared.T  # (b, M)
        if exclude is not None:
            own = np.flatnonzero(exclude[part] != NO_ROW)
            at = exclude[part][own] if column is None else column[exclude[part][own]]
            similar[own[at >= 0], at[at >= 0]] = -torch.inf
        if latest is not None and candidate_years is not None:
            similar[candidate_years[None] > torch.from_numpy(latest[part, None]).to(device)] = -torch.inf
        values, columns = similar.topk(min(2 * k, len(candidates)) if half else k)
        if half:
            exact = torch.bmm(candidates[columns], wanted[:, :, None])[:, :, 0]
            values, order = exact.masked_fill(values == -torch.inf, -torch.inf).topk(k)
            columns = columns.gather(1, order)
        found = columns.cpu().numpy()
        rows[part] = found if pool is None else pool[found]
        scores[part] = values.cpu().numpy()
        del similar  # the next block's is not made beside it
    # Where fewer than k papers are allowed, topk returns excluded ones.
    rows[np.isneginf(scores)] = NO_ROW
    return Ranking(rows, scores)


def with_citations(
    neighbours: Ranking,
    cites: CSR,
    queries: NDArray[np.float32],
    vectors: NDArray[np.float32],
    *,
    exclude: NDArray[np.int32],
    limit: int | None = None,
) -> Ranking:
    """The neighbours and the papers they cite, in order of similarity to the query (Citeomatic, section 3).

    Args:
        neighbours: (Q, K) nearest papers.
        cites: known links (a history's).
        queries: (Q, d) vectors of the queries.
        vectors: (N, d) vectors of all papers.
        exclude: (Q,) each query's own row, or ``NO_ROW``.
        limit: candidates kept for each query; None: all.

    Returns:
        (Q, M) candidates with their similarity, M being the most that any query has.

    Example:
        >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], np.float32)
        >>> own = np.array([0], np.int32)
        >>> cites = CSR.build([1], [3], 4)  # paper 1 cites paper 3
        >>> with_citations(nearest(vectors[:1], vectors, 1, exclude=own), cites, vectors[:1], vectors, exclude=own).rows
        array([[1, 3]], dtype=int32)
    """
    present = neighbours.rows != NO_ROW
    query = np.nonzero(present)[0]
    nearest_papers = neighbours.rows[present]
    owner, cited = cites.gather(nearest_papers)
    query = np.concatenate([query, query[owner]])
    paper = np.concatenate([nearest_papers, cited])
    other = paper != exclude[query]
    sets = CSR.build(query[other], paper[other], len(neighbours))
    width = int(sets.degrees.max(initial=1))
    rows = np.full((len(neighbours), width), NO_ROW, np.int32)
    owner = np.repeat(np.arange(len(sets)), sets.degrees)
    rows[owner, np.arange(len(owner)) - np.repeat(sets.indptr[:-1], sets.degrees)] = sets.indices
    ranking = Ranking(rows, np.zeros(rows.shape, np.float32)).rescored(similarities(queries, vectors, rows))
    return ranking if limit is None else ranking.top(limit)


def similarities(
    queries: NDArray[np.float32], vectors: NDArray[np.float32], rows: NDArray[np.int32], *, block: int = 64
) -> NDArray[np.float32]:
    """(Q, k) inner products of each query with its candidates; ``-inf`` at padding.

    Args:
        queries: (Q, d).
        vectors: (N, d).
        rows: (Q, k) candidates, padded with ``NO_ROW``.
        block: queries computed at a time.

    Example:
        >>> similarities(np.ones((1, 2), np.float32), np.eye(2, dtype=np.float32), np.array([[1, NO_ROW]], np.int32))
        array([[  1., -inf]], dtype=float32)
    """
    result = np.empty(rows.shape, np.float32)
    for start in range(0, len(rows), block):
        part = slice(start, start + block)
        # Padding reads any row; its score is overwritten below.
        gathered = vectors[np.maximum(rows[part], 0)]  # (b, k, d)
        result[part] = np.matmul(gathered, queries[part][:, :, None])[:, :, 0]
    result[rows == NO_ROW] = -np.inf
    return result

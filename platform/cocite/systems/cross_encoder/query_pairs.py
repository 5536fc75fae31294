"""The pairs of one query, tokenised once and read in several chunks, of which each may hold pairs of many queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.text.token_lists import TokenLists


@dataclass(frozen=True)
class QueryPairs:
    """A query with its r candidates.

    Attributes:
        query: one list: the query's side of every pair.
        candidates: r lists.
        lengths: (r,) tokens of each pair, special ones included.

    Example:
        >>> query, candidates = TokenLists.of([[7, 8]]), TokenLists.of([[4], [5, 6], [9]])
        >>> pairs = QueryPairs(query, candidates, lengths=np.array([6, 7, 6]))
        >>> left, right = stack([(pairs, slice(1, 3)), (pairs, slice(0, 1))])
        >>> [left[i].tolist() for i in range(3)], [right[i].tolist() for i in range(3)]
        ([[7, 8], [7, 8], [7, 8]], [[5, 6], [9], [4]])
    """

    query: TokenLists
    candidates: TokenLists
    lengths: NDArray[np.int64]


def stack(parts: Sequence[tuple[QueryPairs, slice]]) -> tuple[TokenLists, TokenLists]:
    """Both sides of some pairs of several queries, part after part."""
    positions = [np.arange(*part.indices(len(pairs.lengths))) for pairs, part in parts]
    return (
        TokenLists.stacked(
            [
                pairs.query.take(np.zeros(len(at), np.int64))
                for (pairs, _), at in zip(parts, positions, strict=True)
            ]
        ),
        TokenLists.stacked(
            [pairs.candidates.take(at) for (pairs, _), at in zip(parts, positions, strict=True)]
        ),
    )

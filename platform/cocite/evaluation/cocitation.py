"""Recommending several papers for one context: slices by positives and by how often pairs were cited together.

The co-citation task (MP-BERT4CR, section 5) is the local task, sliced by the number of papers that a context cites.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.cocitation import ordered_pairs
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import means
from cocite.evaluation.slices import Slice

METRICS = ("R@10", "MAP@10")
"""The metrics that the paper reports."""
POSITIVES = ("= 1", ">= 1", ">= 2")
"""Parts of the queries by how many papers they cite, as Table 3 has them."""
COCITATIONS = (("unseen", 0, 0), ("1", 1, 1), ("2-4", 2, 4), ("5+", 5, np.iinfo(np.int32).max))
"""(name, fewest, most) times that a paper was cited together with another one of its context."""
ALONE = -1
"""The count of a paper that its context cites alone, so that there is no pair to count."""


def by_positives(hits: Hits) -> dict[str, Hits]:
    """The hits of the queries in each of :data:`POSITIVES`.

    Example:
        >>> hits = Hits(np.array([0, 1, 3]), np.array([1, 2, 5], np.int32), np.array([4, 7, 9], np.int32), 10)
        >>> {name: len(part) for name, part in by_positives(hits).items()}
        {'= 1': 1, '>= 1': 2, '>= 2': 1}
    """
    chosen = (hits.relevant == 1, hits.relevant >= 1, hits.relevant >= 2)
    return {name: hits.queries(mask) for name, mask in zip(POSITIVES, chosen, strict=True)}


def largest_cocitations(hits: Hits, history: History) -> NDArray[np.int32]:
    """The number of times that each relevant paper was cited before together with another relevant paper of its query.

    Args:
        hits: of all queries.
        history: whose contexts are counted.

    Returns:
        (R,) aligned with ``hits.rows``: over its pairs with other relevant papers of the same query, the largest number
        of known contexts that cite both; ``ALONE`` where the query has no other one.
    """
    result = np.full(len(hits.rows), ALONE, np.int32)
    left, right = ordered_pairs(CSR(hits.indptr, np.arange(len(hits.rows), dtype=np.int32)))
    np.maximum.at(result, left, pair_counts(history, hits.rows[left], hits.rows[right]))
    return result


def pair_counts(history: History, first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int32]:
    """(n,) how many known contexts cite both papers of each pair."""
    together, counts = history.cocitations
    owners, others = together.pairs()
    width = len(together)
    keys = owners.astype(np.int64) * width + others  # ascending
    wanted = first.astype(np.int64) * width + second
    position = np.searchsorted(keys, wanted)
    known = position < len(keys)
    known[known] = keys[position[known]] == wanted[known]
    result = np.zeros(len(wanted), np.int32)
    result[known] = counts[position[known]]
    return result


def by_cocitations(hits: Hits, largest: NDArray[np.int32], metrics: Sequence[str] = METRICS) -> list[Slice]:
    """Metrics by how often the history cites a relevant paper together with another one of its query.

    Each part counts only its own papers as relevant, as :func:`cocite.evaluation.slices.by_in_citations` does: a query
    whose papers lie in several parts belongs to each of them.

    Args:
        hits: of all queries.
        largest: (R,) from :func:`largest_cocitations`.
        metrics: of each part.
    """
    parts = []
    for name, low, high in COCITATIONS:
        own = hits.papers((largest >= low) & (largest <= high))
        parts.append(Slice(f"co-cited {name}", int((own.relevant > 0).sum()), means(own, metrics)))
    return parts

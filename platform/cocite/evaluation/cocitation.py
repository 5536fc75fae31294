"""Recommending several papers for one context: parts by positives and by how often pairs were cited together.

The co-citation task (MP-BERT4CR, section 5) is the local task, told apart by the number of papers a context cites.
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
"""What the paper reports."""
POSITIVES = ("= 1", ">= 1", ">= 2")
"""Parts of the queries by how many papers they cite, as Table 3 has them."""
COCITATIONS = (("unseen", 0, 0), ("1", 1, 1), ("2-4", 2, 4), ("5+", 5, np.iinfo(np.int32).max))
"""(name, fewest, most) times that a paper was cited together with another one of its context."""
ALONE = -1
"""Stands for a paper that its context cites alone: it has no pair to be counted."""


def by_positives(hits: Hits) -> dict[str, Hits]:
    """The hits of each of :data:`POSITIVES`."""
    chosen = (hits.relevant == 1, hits.relevant >= 1, hits.relevant >= 2)
    return {name: hits.queries(mask) for name, mask in zip(POSITIVES, chosen, strict=True)}


def largest_cocitations(hits: Hits, history: History) -> NDArray[np.int32]:
    """How well known a relevant paper's company is.

    For each relevant paper of a query, aligned with ``hits.rows``: of its pairs with another relevant paper of the
    same query, the largest number of known contexts that cite both; ``ALONE`` where the query has no other one.
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
    place = np.searchsorted(keys, wanted)
    found = place < len(keys)
    found[found] = keys[place[found]] == wanted[found]
    result = np.zeros(len(wanted), np.int32)
    result[found] = counts[place[found]]
    return result


def by_cocitations(hits: Hits, largest: NDArray[np.int32], metrics: Sequence[str] = METRICS) -> list[Slice]:
    """The relevant papers of queries with two or more, by how often the history cites their best-known pair.

    Each part counts only its own papers as relevant, as :func:`cocite.evaluation.slices.by_in_citations` does: a query
    whose papers lie in several parts belongs to each of them.

    Args:
        hits: of all queries.
        largest: (R,) of :func:`largest_cocitations`.
        metrics: of each part.
    """
    parts = []
    for name, low, high in COCITATIONS:
        own = hits.papers((largest >= low) & (largest <= high))
        parts.append(Slice(f"co-cited {name}", int((own.relevant > 0).sum()), means(own, metrics)))
    return parts

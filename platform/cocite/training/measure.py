"""The dev metrics that training stops by, for papers whose links are known.

The full set of metrics, checked against a public library, is ``cocite.evaluation``'s; these few are what a training
loop needs after each epoch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Ranking


def ranking_metrics(
    ranking: Ranking, queries: NDArray[np.int32], relevant: CSR, k: int = 20
) -> dict[str, float]:
    """P@k, R@k, F1@k (of the two means, as Citeomatic defines it), MRR over the given depth, and its recall.

    Args:
        ranking: (Q, depth).
        queries: (Q,) paper rows, each with at least one relevant paper.
        relevant: for each paper of the corpus, the relevant ones.

    Example:
        >>> ranking = Ranking(np.array([[5, 1, 8]], np.int32), np.array([[0.9, 0.5, 0.1]], np.float32))
        >>> relevant = CSR.build([0, 0], [1, 9], 1)
        >>> metrics = ranking_metrics(ranking, np.array([0], np.int32), relevant, k=2)
        >>> metrics["P@2"], metrics["R@2"], metrics["MRR"]
        (0.5, 0.5, 0.5)
    """
    hits = relevant.contains(queries[:, None], ranking.rows) & (ranking.rows != NO_ROW)
    count = np.maximum(relevant.degrees[queries], 1)
    precision = float((hits[:, :k].sum(1) / k).mean())
    recall = float((hits[:, :k].sum(1) / count).mean())
    first = np.where(hits.any(1), 1 / (hits.argmax(1) + 1), 0.0)
    return {
        f"P@{k}": precision,
        f"R@{k}": recall,
        f"F1@{k}": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "MRR": float(first.mean()),
        "recall": float((hits.sum(1) / count).mean()),
    }

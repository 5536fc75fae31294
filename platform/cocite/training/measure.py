"""The dev metrics that training stops by, for papers whose links are known.

The full set of metrics, checked against a public library, is ``cocite.evaluation``'s; these few are what a training
loop needs after each epoch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW, Ranking
from cocite.ranking_metrics import f1, precision_at, recall_at, reciprocal_rank


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
    counts = relevant.degrees[queries]
    precision = float(precision_at(hits, k).mean())
    recall = float(recall_at(hits, counts, k).mean())
    return {
        f"P@{k}": precision,
        f"R@{k}": recall,
        f"F1@{k}": float(f1(precision, recall)),
        "MRR": float(reciprocal_rank(hits).mean()),
        "recall": float(recall_at(hits, counts, ranking.depth).mean()),
    }

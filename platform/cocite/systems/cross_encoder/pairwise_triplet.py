"""The triplet loss of a reranker: each relevant candidate above each other one, by a margin."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def pairwise_triplet_loss(
    logits: Tensor, relevant: Tensor, present: Tensor, *, margin: float = 0.1
) -> Tensor:
    """Mean of max[s(q, d-) - s(q, d+) + m, 0] over a query's triplets (HAtten, Eq. 3, with s of Section 4.2).

    s is the sigmoid of the logit, in [0, 1]. All pairs of a relevant candidate and another one are triplets, so one
    query with a relevant candidate and 62 others has 62.

    Args:
        logits: (Q, k) scores before the sigmoid.
        relevant: (Q, k) bool.
        present: (Q, k) bool, false at padding.
        margin: m > 0.

    Returns:
        (Q,) the mean over each query's triplets; 0 for a query that has none.
    """
    score = logits.sigmoid()
    hinge = functional.relu(score[:, None, :] - score[:, :, None] + margin)  # (Q, relevant, other)
    counted = (relevant & present)[:, :, None] & (~relevant & present)[:, None, :]
    return hinge.masked_fill(~counted, 0.0).sum((1, 2)) / counted.sum((1, 2)).clamp(min=1)

"""The losses of a reranker over a query's group of candidates, besides the softmax over the group.

- :func:`pairwise_triplet_loss`: HAtten + SciBERT ranks each cited candidate above each other one by a margin.
- :func:`pointwise_loss`: Nogueira et al. classify each candidate by itself.
- :func:`cocite.nn.softmax_losses.listwise_losses`: the softmax over the group.

All take (Q, k) logits and return (Q,) losses, one for each query.
"""

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

    Example:
        >>> import torch
        >>> logits, relevant = torch.tensor([[0.0, 0.0, -9.0]]), torch.tensor([[True, False, False]])
        >>> present = torch.ones_like(relevant)
        >>> pairwise_triplet_loss(logits, relevant, present, margin=0.1)  # one of two triplets lacks the margin
        tensor([0.0500])
    """
    score = logits.sigmoid()
    hinge = functional.relu(score[:, None, :] - score[:, :, None] + margin)  # (Q, relevant, other)
    counted = (relevant & present)[:, :, None] & (~relevant & present)[:, None, :]
    return hinge.masked_fill(~counted, 0.0).sum((1, 2)) / counted.sum((1, 2)).clamp(min=1)


def pointwise_loss(logits: Tensor, relevant: Tensor, present: Tensor) -> Tensor:
    """-sum over relevant of log p - sum over others of log(1 - p), p the logit's sigmoid (Nogueira et al., Eq. 1).

    The classes are as the groups have them. Of a retriever's top 10 about one in sixteen is relevant, and balancing did
    harm (Section 5.2), as did papers drawn at random; ``balanced`` and ``random`` of
    :class:`~cocite.systems.cross_encoder.examples.GroupSettings` do it. Unlike the losses over lists, this one trains
    scores that are comparable between queries.

    Args:
        logits: (Q, k) scores before the sigmoid.
        relevant: (Q, k) bool.
        present: (Q, k) bool, false at padding.

    Returns:
        (Q,) the sum over each query's candidates.

    Example:
        >>> import torch
        >>> relevant = torch.tensor([[True, False]])
        >>> present = torch.ones_like(relevant)
        >>> pointwise_loss(torch.tensor([[0.0, 0.0]]), relevant, present)  # 2 log 2
        tensor([1.3863])
        >>> pointwise_loss(torch.tensor([[9.0, -9.0]]), relevant, present) < 0.001
        tensor([True])
    """
    losses = functional.binary_cross_entropy_with_logits(logits, relevant.to(logits.dtype), reduction="none")
    return losses.masked_fill(~present, 0.0).sum(1)

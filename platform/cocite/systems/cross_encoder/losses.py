"""Cross-entropy of each candidate by itself: relevant or not."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def pointwise_loss(logits: Tensor, relevant: Tensor, present: Tensor) -> Tensor:
    """-sum over relevant of log p - sum over others of log(1 - p), p the logit's sigmoid (Nogueira et al., Eq. 1).

    The classes are taken as they come: of a retriever's top 10 about one in sixteen is relevant, and balancing them was
    found to harm (Section 5.2). Unlike the losses over lists it asks for scores that mean the same in every query.

    Args:
        logits: (Q, k) scores before the sigmoid.
        relevant: (Q, k) bool.
        present: (Q, k) bool, false at padding.

    Returns:
        (Q,) the sum over each query's candidates.
    """
    losses = functional.binary_cross_entropy_with_logits(logits, relevant.to(logits.dtype), reduction="none")
    return losses.masked_fill(~present, 0.0).sum(1)

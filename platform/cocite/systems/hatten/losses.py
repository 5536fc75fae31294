"""The triplet loss: a relevant document should lie nearer to the query than an irrelevant one, by a margin."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def triplet_losses(positive: Tensor, negative: Tensor, *, margin: float) -> Tensor:
    """max[s(q, d-) - s(q, d+) + m, 0] of each triplet (Gu et al. 2022, Eq. 3).

    The triplets are given one by one; ``pairwise_triplet_loss`` of Citeomatic forms all triplets of a candidate list.

    Args:
        positive: (T,) similarity s of the query to the document that should be near.
        negative: (T,) similarity of the query to the document that should be far.
        margin: m > 0; a triplet whose similarities differ by more has loss 0.

    Returns:
        (T,) losses.

    Example:
        >>> import torch
        >>> triplet_losses(torch.tensor([0.9, 0.5]), torch.tensor([0.1, 0.45]), margin=0.1)
        tensor([0.0000, 0.0500])
    """
    return functional.relu(negative - positive + margin)

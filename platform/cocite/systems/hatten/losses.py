"""The triplet loss: what is relevant lies nearer to the query than what is not, by a margin."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def triplet_losses(positive: Tensor, negative: Tensor, *, margin: float) -> Tensor:
    """max[s(q, d-) - s(q, d+) + m, 0] of each triplet (HAtten, Eq. 3).

    Its triplets are given one by one; ``pairwise_triplet_loss`` takes all those of a list of candidates.

    Args:
        positive: (T,) similarity s of the query to the document that should be near.
        negative: (T,) its similarity to the one that should not.
        margin: m > 0: a triplet whose similarities are further apart costs nothing.
    """
    return functional.relu(negative - positive + margin)

"""The triplet loss on euclidean distances that MP-BERT4CR's objectives begin with."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from cocite.systems.mp_bert4cr.losses.distances import pairwise
from cocite.systems.mp_bert4cr.losses.multi_positive import to_negatives


def euclidean_triplet(
    manuscripts: Tensor,
    targets: Tensor,
    positives: Tensor,  # noqa: ARG001  (like its siblings' arguments, so that one can stand for another)
    positive_mask: Tensor,  # noqa: ARG001
    negatives: Tensor,
    negative_mask: Tensor,
    weights: Tensor | None = None,
    *,
    margin: float = 1.0,
) -> Tensor:
    """max(||s - t|| - ||s - n|| + margin, 0) (MP-BERT4CR, Eq. 3), s manuscript, t target, n negative.

    The equation has one negative; of several, the mean is taken. Unlike the multi-positive losses it leaves the
    positives aside, and is 0 once every negative is farther than the target by the margin.

    Args:
        manuscripts: (b, d).
        targets: (b, d), the cited paper of each.
        positives: (b, n, d), not looked at.
        positive_mask: (b, n) bool, not looked at.
        negatives: (b, m, d), or (m, d) shared by all.
        negative_mask: (b, m) bool, the negatives that count.
        weights: (m,) how many times each negative counts in the mean; None: all once.
        margin: epsilon.

    Returns:
        (b,) losses; 0 where no negative counts.
    """
    near = pairwise(manuscripts, targets)  # (b,)
    far = to_negatives(manuscripts[:, None], negatives)[:, 0]  # (b, m)
    hinge = functional.relu(near[:, None] - far + margin)
    counted = negative_mask.to(hinge.dtype) if weights is None else negative_mask * weights
    return (hinge * counted).sum(1) / torch.where(negative_mask.any(1), counted.sum(1), 1.0)

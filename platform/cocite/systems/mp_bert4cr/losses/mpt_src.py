"""The multi-positive triplet loss around the manuscript (MP-BERT4CR, *mpt-src*)."""

from __future__ import annotations

import torch
from torch import Tensor

from cocite.systems.mp_bert4cr.losses.distances import pairwise
from cocite.systems.mp_bert4cr.losses.multi_positive import log_one_plus, to_each, to_negatives


def mpt_src(
    manuscripts: Tensor,
    targets: Tensor,
    positives: Tensor,
    positive_mask: Tensor,
    negatives: Tensor,
    negative_mask: Tensor,
    weights: Tensor | None = None,
) -> Tensor:
    """log(1 + sum_j exp(||s - t|| - ||s - n_j||) + sum_j sum_i exp(||s - c_i|| - ||s - n_j||)) (MP-BERT4CR, Eq. 5).

    s is the manuscript, t the target, c_i a positive, n_j a negative: target and positives are drawn to the
    manuscript alike. (The equation as printed gives the s of its last distance an index i; there is one manuscript an
    example, and Eq. 6 has the same term without it.) Without a positive the first sum alone is left.

    Args:
        manuscripts: (b, d).
        targets: (b, d), the cited paper of each.
        positives: (b, n, d) papers cited with the target; n may be 0.
        positive_mask: (b, n) bool, the positives that count.
        negatives: (b, m, d), or (m, d) shared by all.
        negative_mask: (b, m) bool, the negatives that count.
        weights: (m,) a factor of each exponential that a negative is in; None: 1, as in the equation.

    Returns:
        (b,) losses; 0 where no negative counts.
    """
    near = torch.cat(
        [pairwise(manuscripts, targets)[:, None], to_each(manuscripts, positives)], 1
    )  # (b, 1 + n)
    cited = torch.cat([positive_mask.new_ones(len(positive_mask), 1), positive_mask], 1)
    far = to_negatives(manuscripts[:, None], negatives, weights)  # (b, 1, m)
    return log_one_plus([(near[:, :, None] - far, cited[:, :, None] & negative_mask[:, None])])

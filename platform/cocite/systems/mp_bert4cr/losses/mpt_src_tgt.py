"""The multi-positive triplet loss around manuscript and target (MP-BERT4CR, *mpt-src-tgt*)."""

from __future__ import annotations

import torch
from torch import Tensor

from cocite.systems.mp_bert4cr.losses.distances import pairwise
from cocite.systems.mp_bert4cr.losses.multi_positive import log_one_plus, to_each, to_negatives


def mpt_src_tgt(
    manuscripts: Tensor,
    targets: Tensor,
    positives: Tensor,
    positive_mask: Tensor,
    negatives: Tensor,
    negative_mask: Tensor,
    weights: Tensor | None = None,
) -> Tensor:
    """log(1 + sum_j exp(||s - t|| - ||s - n_j||) + sum_ji exp(||s - c_i|| - ||s - n_j||)
    + sum_ji exp(||t - c_i|| - ||t - n_j||)) (MP-BERT4CR, Eq. 6).

    s is the manuscript, t the target, c_i a positive, n_j a negative: target and positives are drawn to the manuscript
    (as ``mpt_src`` does), and the positives to the target too, there with the target as the anchor (``mpt_tgt`` has the
    positive as the anchor). Without a positive the first sum alone is left.

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
    far = to_negatives(torch.stack([manuscripts, targets], 1), negatives, weights)[:, :, None]  # (b, 2, 1, m)
    target = pairwise(manuscripts, targets)[:, None] - far[:, 0, 0]  # (b, m)
    near = torch.stack([to_each(manuscripts, positives), to_each(targets, positives)], 1)  # (b, 2, n)
    counted = (positive_mask[:, :, None] & negative_mask[:, None])[:, None]  # (b, 1, n, m)
    return log_one_plus([(target, negative_mask), (near[..., None] - far, counted)])

"""The multi-positive triplet loss around the target (MP-BERT4CR, *mpt-tgt*)."""

from __future__ import annotations

from torch import Tensor

from cocite.systems.mp_bert4cr.losses.distances import pairwise
from cocite.systems.mp_bert4cr.losses.multi_positive import log_one_plus, to_each, to_negatives


def mpt_tgt(
    manuscripts: Tensor,
    targets: Tensor,
    positives: Tensor,
    positive_mask: Tensor,
    negatives: Tensor,
    negative_mask: Tensor,
    weights: Tensor | None = None,
) -> Tensor:
    """log(1 + sum_i sum_j [exp(||s - t|| - ||s - n_j||) + exp(||c_i - t|| - ||c_i - n_j||)]) (MP-BERT4CR, Eq. 4).

    s is the manuscript, t the target, c_i a positive, n_j a negative: the positives are drawn to the target, not to
    the manuscript. The first term is the same for every i, so it counts once for each positive. Without a positive the
    equation's sums are empty and the target would teach nothing; the first term then counts once.

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
    source = (
        pairwise(manuscripts, targets)[:, None] - to_negatives(manuscripts[:, None], negatives, weights)[:, 0]
    )  # (b, m)
    times = positive_mask.sum(1, keepdim=True).clamp(min=1).to(source.dtype)
    around = to_each(targets, positives)[:, :, None] - to_negatives(
        positives, negatives, weights
    )  # (b, n, m)
    counted = positive_mask[:, :, None] & negative_mask[:, None]
    return log_one_plus([(source + times.log(), negative_mask), (around, counted)])

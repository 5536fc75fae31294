"""What the multi-positive triplet losses share: the distances they are made of, and log(1 + a sum of exponentials)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from cocite.systems.mp_bert4cr.losses.distances import all_pairs, pairwise


def to_negatives(anchors: Tensor, negatives: Tensor, weights: Tensor | None = None) -> Tensor:
    """(b, a, m) distances of each example's anchors to its negatives, or to those that all share.

    Args:
        anchors: (b, a, d).
        negatives: (b, m, d), or (m, d) for all: then one matrix product, and no copy of them for each example.
        weights: (m,) how many times each negative counts. Their logarithms are taken off the distances, so that each
            exponential that a negative is in has its weight for a factor.
    """
    if negatives.dim() == 2:
        found = all_pairs(anchors.flatten(0, 1), negatives).view(*anchors.shape[:2], len(negatives))
    else:
        found = all_pairs(anchors, negatives)
    return found if weights is None else found - weights.log()


def to_each(anchors: Tensor, positives: Tensor) -> Tensor:
    """(b, n) distance of each example's anchor (b, d) to each of its positives (b, n, d)."""
    return pairwise(anchors[:, None], positives)


def log_one_plus(exponents: list[tuple[Tensor, Tensor]]) -> Tensor:
    """(b,) log(1 + sum of exp) over the exponents that count, by log-sum-exp: finite however large they are.

    Args:
        exponents: pairs of (b, ...) exponents and of a mask that is true where one counts, of any shape that
            broadcasts to theirs.
    """
    parts = [part.masked_fill(~mask, float("-inf")).flatten(1) for part, mask in exponents]
    return functional.pad(torch.cat(parts, 1), (1, 0)).logsumexp(1)  # the 1 is exp(0)

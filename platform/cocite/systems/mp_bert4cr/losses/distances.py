"""Euclidean distances that a gradient can pass through, wherever the points lie."""

from __future__ import annotations

import torch
from torch import Tensor

TINY = 1e-12
"""Squared distances below it count as it, so that the gradient at distance 0 is 0 and not 0 / 0."""


def pairwise(left: Tensor, right: Tensor) -> Tensor:
    """(...) distance of each vector of ``left`` (..., d) to the one at its place in ``right``; shapes broadcast.

    In float32 at least, whatever autocast says: a distance is a small difference of large numbers.
    """
    with torch.autocast(left.device.type, enabled=False):
        return (exact(left) - exact(right)).square().sum(-1).clamp(min=TINY).sqrt()


def all_pairs(left: Tensor, right: Tensor) -> Tensor:
    """(..., p, q) distances of all vectors ``left`` (..., p, d) to all of ``right`` (..., q, d).

    One matrix product: no (p, q, d) differences are held. To keep its rounding small, both sides are first moved by
    the same vector, the mean of ``right``, which changes no distance.
    """
    with torch.autocast(left.device.type, enabled=False):
        left, right = exact(left), exact(right)
        if not right.shape[-2]:
            return left @ right.mT
        centre = right.detach().mean(-2, keepdim=True)
        left, right = left - centre, right - centre
        squares = left.square().sum(-1)[..., :, None] + right.square().sum(-1)[..., None, :]
        return (squares - 2 * (left @ right.mT)).clamp(min=TINY).sqrt()


def exact(vectors: Tensor) -> Tensor:
    """The vectors in float32, or float64 where they are."""
    return vectors if vectors.dtype == torch.float64 else vectors.float()

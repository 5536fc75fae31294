"""Floating-point operations of HAtten's two levels of attention."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cocite.nn.layer_flops import layer_flops
from cocite.systems.hatten.network import HattenModelSettings


def forward_flops(model: HattenModelSettings, words: ArrayLike, parts: ArrayLike) -> float:
    """Operations of both levels, and of the pooling that ends each, without padding.

    Args:
        model: size and shape.
        words: (P,) words of each paragraph.
        parts: (D,) paragraphs of each document.

    Example:
        >>> forward_flops(HattenModelSettings(dimension=20, feed_forward=40), [3], [1])
        31200.0
    """
    total = 0.0
    for lengths in (np.asarray(words, np.float64), np.asarray(parts, np.float64)):
        tokens, squares = float(lengths.sum()), float(np.square(lengths).sum())
        pooled = 4 * model.heads * model.dimension * tokens + 4 * model.dimension**2 * len(lengths)
        total += layer_flops(tokens, squares, hidden=model.dimension, inner=model.feed_forward) + pooled
    return total

"""FLOPs that a transformer needs, for the model FLOPs utilisation (MFU)."""

from __future__ import annotations


def layer_flops(tokens: float, pairs: float, *, hidden: int, inner: int) -> float:
    """FLOPs of a forward pass through one transformer encoder layer.

    Per token 8 h^2 for the projections of queries, keys, values and output, and 4 h f for the feed-forward part; per
    pair of tokens that see one another 4 h, for the scores and the weighted sum. A multiplication and its addition
    count as two; norms, biases and activations are left out, as is usual.

    Args:
        tokens: tokens in all, without padding.
        pairs: pairs of tokens that attend, both ways: the sum of squared lengths for full attention.
        hidden: width ``h``.
        inner: width ``f`` of the feed-forward part.
    """
    return tokens * (8 * hidden**2 + 4 * hidden * inner) + pairs * 4 * hidden

"""The triplet loss of Citeomatic: a margin for each kind of negative, and a boost for much-cited papers."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

RANDOM, NEIGHBOUR, CITED_BY_CITED = 0, 1, 2
"""Kinds of negatives: any paper; a near neighbour in the embedding space; a citation of a citation."""
MARGINS = (0.3, 0.2, 0.1)
"""alpha of each kind (Appendix B)."""


def citation_boost(in_citations: Tensor) -> Tensor:
    """B(d) = sigmoid(in-citations / 100) / 50 (Appendix B): between .01 (never cited) and .02. Any shape."""
    return torch.sigmoid(in_citations / 100) / 50


def margin_triplet_loss(
    positive: Tensor,
    negative: Tensor,
    kind: Tensor,
    positive_citations: Tensor,
    negative_citations: Tensor,
    *,
    gamma: float = 1.0,
) -> Tensor:
    """Mean of max(gamma * alpha(kind) + s(q, d-) + B(d-) - s(q, d+) - B(d+), 0) (Eq. 2 with Appendix B).

    Unlike an in-batch loss it needs its negatives given, one a positive, each with its kind.

    Args:
        positive, negative: (T,) similarities s of the query to the cited and the uncited paper.
        kind: (T,) int64, which kind of negative each is: an index into ``MARGINS``.
        positive_citations, negative_citations: (T,) times each paper was cited.
        gamma: the margin multiplier.
    """
    alpha = torch.tensor(MARGINS, dtype=positive.dtype)[kind]  # (T,)
    boost = citation_boost(negative_citations.to(positive.dtype)) - citation_boost(
        positive_citations.to(positive.dtype)
    )
    return functional.relu(gamma * alpha + negative - positive + boost).mean()

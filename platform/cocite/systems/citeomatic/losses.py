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
    """B(d) = sigmoid(in-citations / 100) / 50 (Appendix B): between .01 (never cited) and .02. Any shape.

    Example:
        >>> [round(boost, 4) for boost in citation_boost(torch.tensor([0.0, 100.0, 1000.0])).tolist()]
        [0.01, 0.0146, 0.02]
    """
    return torch.sigmoid(in_citations / 100) / 50


def margin_triplet_losses(
    positive: Tensor,
    negative: Tensor,
    kind: Tensor,
    positive_citations: Tensor,
    negative_citations: Tensor,
    *,
    gamma: float = 1.0,
) -> Tensor:
    """max(gamma * alpha(kind) + s(q, d-) + B(d-) - s(q, d+) - B(d+), 0) of each triplet (Eq. 2 with Appendix B).

    Args:
        positive, negative: (T,) similarities s of the query to the cited and the uncited paper.
        kind: (T,) int64, which kind of negative each is: an index into ``MARGINS``.
        positive_citations, negative_citations: (T,) times each paper was cited.
        gamma: the margin multiplier.

    Returns:
        (T,).

    Example:
        >>> cited, uncited = torch.tensor([0.9, 0.5]), torch.tensor([0.2, 0.4])
        >>> kind, never = torch.tensor([RANDOM, NEIGHBOUR]), torch.zeros(2)
        >>> [round(loss, 4) for loss in margin_triplet_losses(cited, uncited, kind, never, never).tolist()]
        [0.0, 0.1]
    """
    alpha = torch.tensor(MARGINS, dtype=positive.dtype, device=positive.device)[kind]  # (T,)
    boost = citation_boost(negative_citations.to(positive.dtype)) - citation_boost(
        positive_citations.to(positive.dtype)
    )
    return functional.relu(gamma * alpha + negative - positive + boost)

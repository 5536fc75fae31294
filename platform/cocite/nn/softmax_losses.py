"""Cross-entropy over many candidates at once: the alternative to triplets with one negative each."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def sampled_softmax_loss(
    similarities: Tensor, target: Tensor, forbidden: Tensor, *, scale: float, offset: Tensor | None = None
) -> Tensor:
    """Mean of -log softmax(scale * s)[target] over the candidates that are no citations of the query themselves.

    Args:
        similarities: (B, C) cosines of each query to each candidate: the positives of all queries of the batch,
            then any further negatives.
        target: (B,) int64, the column of each query's positive.
        forbidden: (B, C) bool, columns left out: the query itself, and its other citations (false negatives).
        scale: inverse temperature.
        offset: (C,) added to each column's logit: minus the log of how often the column is drawn, so that much-cited
            papers, which are drawn more often, do not get lower scores (sampled softmax's correction).

    Example:
        >>> import torch
        >>> similarities = torch.tensor([[0.9, 0.1, 0.8]])
        >>> forbidden = torch.tensor([[False, False, True]])  # the third paper is cited too
        >>> sampled_softmax_loss(similarities, torch.tensor([0]), forbidden, scale=10.0)
        tensor(0.0003)
    """
    logits = scale * similarities  # (B, C)
    if offset is not None:
        logits = logits + offset
    return functional.cross_entropy(logits.masked_fill(forbidden, float("-inf")), target)


def listwise_loss(logits: Tensor, relevant: Tensor, present: Tensor) -> Tensor:
    """Mean over queries of :func:`listwise_losses`; a query without a relevant candidate does not count.

    Args:
        logits: (Q, k) scores before any squashing.
        relevant: (Q, k) bool; a query without a relevant candidate adds nothing.
        present: (Q, k) bool, false at padding.

    Example:
        >>> import torch
        >>> relevant = torch.tensor([[True, False], [False, False]])
        >>> listwise_loss(torch.zeros(2, 2), relevant, torch.ones(2, 2, dtype=torch.bool))  # log 2
        tensor(0.6931)
    """
    return listwise_losses(logits, relevant, present).sum() / relevant.any(1).sum().clamp(min=1)


def listwise_losses(logits: Tensor, relevant: Tensor, present: Tensor) -> Tensor:
    """-log softmax(logits) averaged over each query's relevant candidates (ListNet's top one).

    Args:
        logits: (Q, k) scores before any squashing.
        relevant: (Q, k) bool.
        present: (Q, k) bool, false at padding.

    Returns:
        (Q,) losses, 0 for a query without a relevant candidate.

    Example:
        >>> import torch
        >>> relevant = torch.tensor([[True, False, False], [True, True, False]])
        >>> listwise_losses(torch.zeros(2, 3), relevant, torch.tensor([[True, True, True], [True, True, False]]))
        tensor([1.0986, 0.6931])
    """
    logs = functional.log_softmax(logits.masked_fill(~present, float("-inf")), dim=1)
    return -logs.masked_fill(~relevant, 0.0).sum(1) / relevant.sum(1).clamp(min=1)

"""Cross-entropy over many candidates at once: the alternative to triplets with one negative each."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def sampled_softmax_losses(
    similarities: Tensor, target: Tensor, forbidden: Tensor, *, scale: float, offset: Tensor | None = None
) -> Tensor:
    """-log softmax(scale * s)[target] over the candidates that are no citations of the query themselves.

    Args:
        similarities: (B, C) cosines of each query to each candidate: the positives of all queries of the batch,
            then any further negatives.
        target: (B,) int64, the column of each query's positive.
        forbidden: (B, C) bool, columns left out: the query itself, and its other citations (false negatives).
        scale: inverse temperature.
        offset: (C,) added to each column's logit, minus the log of how often it is drawn, so that drawing much-cited
            papers more often does not push them down (sampled softmax's correction).

    Returns:
        (B,) loss of each query.

    Example:
        >>> import torch
        >>> similarities = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.5]])
        >>> forbidden = torch.tensor([[False, False, True], [False, False, False]])  # the first query cites both
        >>> losses = sampled_softmax_losses(similarities, torch.tensor([0, 1]), forbidden, scale=10.0)
        >>> [round(loss, 4) for loss in losses.tolist()]
        [0.0, 0.0068]
    """
    logits = scale * similarities  # (B, C)
    if offset is not None:
        logits = logits + offset
    return functional.cross_entropy(logits.masked_fill(forbidden, float("-inf")), target, reduction="none")


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
    # Filled, not multiplied by 0: an absent candidate has a logarithm of -inf, and 0 x inf is NaN.
    return -logs.masked_fill(~relevant, 0.0).sum(1) / relevant.sum(1).clamp(min=1)

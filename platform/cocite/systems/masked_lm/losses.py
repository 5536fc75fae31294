"""The loss of masked language modelling."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from cocite.systems.masked_lm.network import MaskedBatch


def text_losses(logits: Tensor, batch: MaskedBatch) -> Tensor:
    """The mean cross-entropy over each text's hidden tokens (Devlin et al. 2019, section 3.1).

    Args:
        logits: (h, V) of the hidden tokens.
        batch: b texts; each has at least one hidden token.

    Returns:
        (b,) losses.

    Example:
        >>> import torch
        >>> hidden = torch.tensor([[True, False, True], [False, True, False]])
        >>> batch = MaskedBatch(torch.zeros(2, 3).long(), torch.ones(2, 3).bool(), hidden, torch.tensor([0, 1, 1]))
        >>> text_losses(torch.zeros(3, 4), batch)  # log 4 each
        tensor([1.3863, 1.3863])
    """
    losses = functional.cross_entropy(logits.float(), batch.answers, reduction="none")  # (h,)
    table = losses.new_zeros(batch.hidden.shape).masked_scatter(batch.hidden, losses)
    return table.sum(1) / batch.hidden.sum(1)

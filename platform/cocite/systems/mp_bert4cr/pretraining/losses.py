"""The loss of hierarchical pretraining."""

from __future__ import annotations

import torch
from torch import Tensor

from cocite.systems.mp_bert4cr.pretraining.network import HiddenSentences


def document_losses(token_losses: Tensor, batch: HiddenSentences) -> Tensor:
    """The mean cross-entropy over each document's hidden tokens (HIBERT, section 3.2).

    Args:
        token_losses: (A,) cross-entropy of each hidden token.
        batch: D documents with their hidden sentences.

    Returns:
        (D,) losses.

    Example:
        >>> from cocite.text.documents import Documents
        >>> documents = Documents(  # two documents of two sentences of two tokens
        ...     torch.arange(8), sentences=torch.tensor([0, 2, 4, 6, 8]), documents=torch.tensor([0, 2, 4]))
        >>> hidden = torch.tensor([0, 3])  # the first sentence of the one, the second of the other
        >>> batch = HiddenSentences(documents, hidden, torch.tensor([0, 1, 6, 7]), bounds=torch.tensor([0, 2, 4]))
        >>> document_losses(torch.tensor([1.0, 2.0, 5.0, 6.0]), batch)
        tensor([1.5000, 5.5000])
    """
    document = torch.searchsorted(batch.documents.documents, batch.hidden, right=True) - 1
    owner = document.repeat_interleave(batch.bounds.diff(), output_size=len(token_losses))
    count = torch.bincount(owner, minlength=len(batch.documents))
    return token_losses.new_zeros(len(count)).index_add(0, owner, token_losses / count[owner])

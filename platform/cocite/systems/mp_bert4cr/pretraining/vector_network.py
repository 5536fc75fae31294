"""The model of the sentence level's pretraining: predicts a hidden sentence's vector from the sentences around it.

After HIBERT (Zhang, Wei, Zhou 2019, section 3.2), which predicts a hidden sentence's words. With a frozen trunk there
is nothing to learn below the sentences, so the sentence's vector itself is predicted, and told from those of the other
hidden sentences of the step.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalEncoder, HierarchicalSettings
from cocite.systems.mp_bert4cr.pretraining.vector_examples import HiddenVectors


class VectorPretrainer(nn.Module):
    """Predicts the vectors of hidden sentences.

    Args:
        settings: shape of the encoder, which reads a trunk.
        vocabulary: number of tokens that there are.

    Example:
        >>> from cocite.text.documents import Documents
        >>> settings = HierarchicalSettings(sentence_layers=0, document_layers=1, hidden=8, heads=2, inner=16,
        ...                                 trunk_width=4)
        >>> documents = Documents(torch.tensor([5, 2, 7, 2]), torch.tensor([0, 2, 4]), torch.tensor([0, 2]),
        ...                       torch.randn(2, 4))
        >>> VectorPretrainer(settings, vocabulary=10)(HiddenVectors(documents, torch.tensor([1]))).shape
        torch.Size([1, 4])
    """

    def __init__(self, settings: HierarchicalSettings, vocabulary: int) -> None:
        super().__init__()
        self.encoder = HierarchicalEncoder(settings, vocabulary)
        self.mask = nn.Parameter(torch.zeros(settings.hidden))
        self.head = nn.Linear(settings.hidden, settings.trunk_width)

    def forward(self, batch: HiddenVectors) -> Tensor:
        """(M, t) the prediction for each hidden sentence."""
        encoded = self.encoder(batch.documents, masked=(batch.hidden, self.mask))
        # States of a model that begins as a mean of words are small, and all alike: the head reads them normed.
        states = functional.layer_norm(encoded.sentences[batch.hidden], self.mask.shape)
        predicted: Tensor = self.head(states)
        return predicted

    def targets(self, batch: HiddenVectors) -> Tensor:
        """(M, t) what is to be predicted: the hidden sentences' standardised vectors."""
        assert self.encoder.trunk is not None
        assert batch.documents.vectors is not None
        return self.encoder.trunk.standardised(batch.documents.vectors[batch.hidden])

    def gradient_checkpointing_enable(self) -> None:
        """Compute the encoder's states again in the backward pass instead of storing them."""
        self.encoder.gradient_checkpointing_enable()


def told_apart(
    predicted: Tensor, targets: Tensor, owners: Tensor, count: int, temperature: float
) -> tuple[Tensor, Tensor]:
    """The cross-entropy of telling each hidden sentence from all others by the cosines of predictions and vectors.

    Args:
        predicted: (M, t).
        targets: (M, t).
        owners: (M,) the document of each.
        count: documents.
        temperature: that cosines are divided by.

    Returns:
        (count,) the mean cross-entropy of each document's hidden sentences; (M,) bool, whether each one's own vector
        is the nearest.

    Example:
        >>> vectors = torch.eye(3)
        >>> losses, correct = told_apart(vectors, vectors, torch.tensor([0, 0, 1]), 2, temperature=0.1)
        >>> bool((losses < 0.001).all()), correct.tolist()
        (True, [True, True, True])
    """
    cosines = functional.normalize(predicted.float(), dim=1) @ functional.normalize(targets.float(), dim=1).mT
    own = torch.arange(len(cosines), device=cosines.device)
    losses = functional.cross_entropy(cosines / temperature, own, reduction="none")
    often = torch.bincount(owners, minlength=count)
    return losses.new_zeros(count).index_add(0, owners, losses / often[owners]), cosines.argmax(1) == own

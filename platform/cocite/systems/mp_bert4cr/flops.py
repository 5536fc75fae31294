"""Floating-point operations of MP-BERT4CR's hierarchical transformer."""

from __future__ import annotations

from cocite.nn.layer_flops import layer_flops
from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalSettings
from cocite.text.documents import Documents


def forward_flops(model: HierarchicalSettings, documents: Documents) -> float:
    """Operations of the layers of both levels for some documents, without padding.

    Example:
        >>> import torch
        >>> documents = Documents(torch.tensor([5, 6, 2]), torch.tensor([0, 3]), torch.tensor([0, 1]))
        >>> shape = {"sentence_layers": 1, "document_layers": 1, "hidden": 8, "heads": 2, "inner": 16}
        >>> forward_flops(HierarchicalSettings(**shape), documents)
        4416.0
    """
    levels = (
        (model.sentence_layers, documents.lengths.double()),
        (model.document_layers, documents.document_lengths.double()),
    )
    return float(
        sum(
            layers
            * layer_flops(
                float(lengths.sum()), float(lengths.square().sum()), hidden=model.hidden, inner=model.inner
            )
            for layers, lengths in levels
        )
    )

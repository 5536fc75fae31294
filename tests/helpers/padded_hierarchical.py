"""The hierarchical transformer as torch's own layers compute it, padded: what the packed one must equal."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cocite.systems.mp_bert4cr.hierarchical_transformer import (
    HierarchicalEncoder,
    InputEmbedding,
    TransformerLayer,
)
from cocite.text.documents import Documents
from helpers.torch_layers import torch_layer


def padded(model: HierarchicalEncoder, documents: Documents) -> tuple[Tensor, Tensor]:
    """(S, d) states of sentences and (D, d) vectors of documents, every sequence padded to the longest."""
    lengths = documents.lengths
    width = torch.arange(int(lengths.max()))
    mask = width < lengths[:, None]
    ids = torch.zeros(mask.shape, dtype=torch.int64).masked_scatter(mask, documents.ids)
    states = _through(model.tokens, model.sentence_layers, model.words(ids), mask)
    if model.settings.pooling == "mean":
        found = (states * mask[:, :, None]).sum(1) / lengths[:, None]
    else:
        found = states[torch.arange(len(lengths)), lengths - 1]

    counts = documents.document_lengths
    held = torch.arange(int(counts.max())) < counts[:, None]
    table = found.new_zeros(*held.shape, found.shape[1]).masked_scatter(held[:, :, None], found)
    states = _through(model.sentences, model.document_layers, table, held)
    return states[held], model.norm((states * held[:, :, None]).sum(1))


def _through(embedding: InputEmbedding, layers: nn.ModuleList, states: Tensor, mask: Tensor) -> Tensor:
    states = embedding(states, torch.arange(mask.shape[1]))
    for layer in layers:
        assert isinstance(layer, TransformerLayer)
        s = layer.settings
        theirs = torch_layer(layer, s.hidden, s.heads, s.inner, pre=s.norm == "pre")
        states = theirs.train(states.requires_grad)(states, src_key_padding_mask=~mask)
    return states

"""Small models of BERT's family with random weights, and what their own forward computes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import (
    BertConfig,
    BertModel,
    ElectraConfig,
    ElectraModel,
    RobertaConfig,
    RobertaModel,
)

from cocite.text.pair_batch import PairBatch

SIZE = {
    "vocab_size": 80,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


def small_bert(name: str = "bert", **options: Any) -> Any:
    """A backbone of a model type: ``bert``, ``roberta`` or ``electra``."""
    torch.manual_seed(0)
    model: Any = {
        "bert": lambda: BertModel(BertConfig(**SIZE | options)),
        "roberta": lambda: RobertaModel(RobertaConfig(**SIZE | options, pad_token_id=1, type_vocab_size=1)),
        "electra": lambda: ElectraModel(ElectraConfig(**SIZE | options, embedding_size=16)),
    }[name]()
    for parameter in model.parameters():  # larger weights than a new model's: attention that is not flat
        parameter.data.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def padded_states(model: Any, batch: PairBatch) -> Tensor:
    """(T, d) the states of all tokens by the model's own forward."""
    ids, types, mask = batch.padded(model.config.pad_token_id)
    if model.config.type_vocab_size == 1:
        types = torch.zeros_like(types)
    states: Tensor = model(input_ids=ids, attention_mask=mask.long(), token_type_ids=types).last_hidden_state
    return states[mask]

"""A small random encoder as a frozen trunk, in a folder."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import BertConfig, BertModel

from cocite.text.wordpiece import train_wordpiece

WIDTH = 16


def save_small_trunk(folder: Path, texts: list[str], *, seed: int = 0, positions: int = 40) -> Path:
    """A BERT of two layers with a vocabulary of some texts, as Hugging Face saves it."""
    torch.manual_seed(seed)
    tokenizer = train_wordpiece(lambda: texts, 400)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=positions,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder

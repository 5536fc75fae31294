"""A BERT of two layers with random weights, in a folder as Hugging Face writes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast


def tiny_bert(folder: Path, words: Iterable[str], *, seed: int = 0) -> Path:
    """Write config, safetensors and a tokenizer that knows some words and all letters and digits."""
    signs = "abcdefghijklmnopqrstuvwxyz0123456789.,-"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *signs, *(f"##{sign}" for sign in signs)]
    vocabulary += sorted(set(words) - set(vocabulary))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertModel(config)
    model.save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    (folder / "vocab.txt").unlink()
    return folder

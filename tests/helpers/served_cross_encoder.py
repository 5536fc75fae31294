"""A model folder with a tiny cross-encoder alone, whose weights are random."""

from __future__ import annotations

from pathlib import Path

import torch

from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.text.pair_tokenizer import PairSettings
from helpers.tiny_bert import tiny_bert


def cross_encoder_folder(folder: Path) -> Path:
    """Make it below ``folder``; it reads local queries."""
    torch.manual_seed(0)
    model = CrossEncoder.from_pretrained(
        tiny_bert(folder / "bert", []), PairSettings(query_tokens=48, candidate_tokens=64)
    )
    model.save(folder / "model" / "cross-encoder")
    return folder / "model"

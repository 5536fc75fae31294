"""A model of two small networks with random weights, and its index: every path of an endpoint answers, and soon.

    .venv/bin/python -m benchmarks._small_model MODEL

makes one with a cross-encoder alone, for any index.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from benchmarks.cross_encoder_scoring import minilm
from benchmarks.serving import write_model
from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.sentence_encoder.encoder import load_sentence_encoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder

MAX_TOKENS = 64


def small_model(folder: Path) -> tuple[Path, Path]:
    """Make a model with a sentence encoder and a cross-encoder, and an index of the starter corpus, below a folder.

    Returns:
        The folders of the model and of the index.
    """
    backbone = _backbone(folder / "backbone")
    model = write_model(backbone, folder / "model")
    save_sentence_encoder(
        model / "sentence", SentenceRecipe(encoder=str(backbone), max_tokens=MAX_TOKENS), {}
    )
    encoder = load_sentence_encoder(model / "sentence")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index", encoders=[encoder])
    return model, folder / "index"


def small_reader(folder: Path) -> Path:
    """Make a model with a cross-encoder alone, which needs no vectors in an index; returns its folder."""
    with tempfile.TemporaryDirectory() as scratch:
        return write_model(_backbone(Path(scratch)), folder)


def _backbone(folder: Path) -> Path:
    """A BERT of one layer that reads by the tokenizer of all-MiniLM-L6-v2."""
    tokenizer = AutoTokenizer.from_pretrained(minilm())
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make a model with a small cross-encoder of random weights.")
    parser.add_argument("folder", type=Path, help="model folder to make")
    small_reader(parser.parse_args().folder)

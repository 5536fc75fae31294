"""A model with a tiny sentence encoder and a tiny cross-encoder, whose weights are random, and an index of its own."""

from __future__ import annotations

from pathlib import Path

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.sentence_encoder.encoder import load_sentence_encoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder
from helpers.served_cross_encoder import cross_encoder_folder
from helpers.tiny_bert import tiny_bert


def texts_folders(folder: Path) -> tuple[Path, Path]:
    """Make the model and the index of the starter corpus below a folder."""
    model = cross_encoder_folder(folder)
    bert = tiny_bert(folder / "sentence-bert", ["parsing", "translation", "words"], seed=1)
    recipe = SentenceRecipe(encoder=str(bert), max_tokens=32)
    save_sentence_encoder(model / "sentence", recipe, {})
    encoder = load_sentence_encoder(model / "sentence")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index", encoders=[encoder])
    return model, folder / "index"

"""A model folder with encoders that were never trained, made at once."""

from __future__ import annotations

from pathlib import Path

import torch

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.nnselect.encoder import save_nnselect
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.systems.hatten.encoder import save_hatten
from cocite.text.fields import FieldEncoder, FieldSettings
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from helpers.small_hatten import small_hatten


def untrained_encoders(corpus: Corpus, folder: Path, *, seed: int = 0, hatten: bool = False) -> Path:
    """Write NNSelect of 8 components, and HAtten of 12 if it is wanted, into a model folder."""
    history = History.all(corpus)
    torch.manual_seed(seed)
    fields = FieldEncoder.build(history, FieldSettings())
    save_nnselect(folder / "nnselect", NNSelect(len(fields.vocabularies["words"]), 8), fields, {"seed": seed})
    if hatten:
        reader = ParagraphReader.build(history, ParagraphSettings(), bodies=False)
        save_hatten(folder / "hatten", small_hatten(reader.size), reader, {})
    return folder

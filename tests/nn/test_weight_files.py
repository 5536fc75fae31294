from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import numpy as np
import pytest
import torch
from cocite.corpus.builder import build as build_corpus
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import IntegrityError
from cocite.pipeline import components as members
from cocite.protocols import BodyReader, Encoder, Query
from cocite.retrieval.index.index import Index
from cocite.retrieval.vector_retriever import VectorRetriever
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContextSettings
from cocite.systems.mp_bert4cr.encoder import (
    MpBert4crConfig,
    MpBert4crEncoder,
    load_mp_bert4cr_encoder,
    save_mp_bert4cr,
)
from cocite.systems.mp_bert4cr.network import MpBert4cr, MpBert4crModelSettings
from cocite.text.queries import context_queries, manuscript_queries
from cocite.text.wordpiece import train_wordpiece

MODEL = MpBert4crModelSettings(
    sentence_layers=1,
    document_layers=1,
    hidden=16,
    heads=2,
    inner=32,
    dropout=0.0,
    norm="pre",
    sentence_tokens=24,
    sentences=12,
    shared_words=True,
)


@pytest.fixture(scope="module")
def folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    texts = corpus.papers.take("abstract", np.arange(len(corpus)))
    tokenizer = train_wordpiece(lambda: texts, 400)
    torch.manual_seed(0)
    model = MpBert4cr(MODEL, len(tokenizer))
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    config = MpBert4crConfig(model=MODEL, contexts=CONTEXTS, sentence_tokens=24, title=True)
    save_mp_bert4cr(folder / "mp-bert4cr", model, tokenizer, config, {})
    return folder


def test_damaged_weights_are_told(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    from cocite.nn.weight_files import load_weights

    weights = load_file(folder / "mp-bert4cr" / "model.safetensors")
    assert "citation.words.weight" not in weights
    model = MpBert4cr(MODEL, len(weights["manuscript.words.weight"]))
    weights.pop("manuscript.norm.bias")
    save_file(weights, tmp_path / "w.safetensors")
    with pytest.raises(IntegrityError, match=r"'manuscript\.norm\.bias' is not in both"):
        load_weights(model, tmp_path / "w.safetensors")
    (tmp_path / "w.safetensors").write_bytes(b"nothing")
    with pytest.raises(IntegrityError, match="does not fit config and vocabulary"):
        load_weights(model, tmp_path / "w.safetensors")

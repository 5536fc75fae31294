"""The network: its vectors are those of the exported folder, by whoever reads it."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer, DistilBertConfig, DistilBertModel

from cocite.errors import ConfigError
from cocite.systems.bi_encoder.citations import tokenized
from cocite.systems.bi_encoder.network import BiEncoder
from cocite.systems.bi_encoder.task import packed
from cocite.systems.sentence_encoder.folders import read_folder
from cocite.systems.sentence_encoder.pooling import Pooling
from cocite.text.token_lists import TokenLists

TEXTS = ["graph parsing of sentences", "neural retrieval", "a"]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_vectors_are_pooled_from_the_backbones_own_states(encoder: Path, pooling: str) -> None:
    model = BiEncoder.from_pretrained(str(encoder), pooling=pooling, max_tokens=32).eval()  # type: ignore[arg-type]
    tokens = tokenized(model.tokenizer, TEXTS, 32)
    with torch.no_grad():
        found = model(packed([tokens]))
        for i, text in enumerate(TEXTS):
            backbone = AutoModel.from_pretrained(encoder).eval()
            states = backbone(**model.tokenizer(text, return_tensors="pt")).last_hidden_state[0].double()
            pooled = states.mean(0) if pooling == "mean" else states[0]
            torch.testing.assert_close(
                found[i].double(), functional.normalize(pooled, dim=0), rtol=0, atol=1e-5
            )


def test_other_architectures_run_padded(encoder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    shape = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": 64}
    backbone = DistilBertModel(DistilBertConfig(vocab_size=len(tokenizer), **shape)).eval()
    model = BiEncoder(backbone, tokenizer, "mean", 32)
    tokens = tokenized(tokenizer, TEXTS, 32)
    with torch.no_grad():
        together = model(packed([tokens]))
        alone = torch.cat([model(packed([tokens.take(np.array([i]))])) for i in range(len(TEXTS))])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_packed_parts_lie_one_after_the_other(lengths: list[int]) -> None:
    lists = [list(range(1, length + 1)) for length in lengths]
    batch = packed([TokenLists.of(lists[:1]), TokenLists.of(lists[1:])])
    assert batch.ids.tolist() == [token for part in lists for token in part]
    assert batch.lengths.tolist() == lengths
    assert batch.longest == max(lengths)


def test_the_folder_says_how_its_vectors_are_made(encoder: Path, tmp_path: Path) -> None:
    for pooling in get_args(Pooling):
        model = BiEncoder.from_pretrained(str(encoder), pooling=pooling, max_tokens=40)
        model.save(tmp_path / "bi-encoder", {})
        declared = read_folder(str(tmp_path / "bi-encoder"))
        assert declared is not None
        assert (declared.pooling, declared.max_tokens, declared.normalize) == (pooling, 40, True)


def test_more_tokens_than_the_encoder_reads_are_refused(encoder: Path) -> None:
    with pytest.raises(ConfigError, match=r"texts.max_tokens is 200, and the encoder reads 128 tokens"):
        BiEncoder.from_pretrained(str(encoder), pooling="mean", max_tokens=200)

"""The recipe of a sentence encoder: the artifact that it makes needs nothing else, and unfit encoders are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.command_line import call
from helpers.tiny_bert import tiny_bert

from cocite.artifacts import seal
from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError, IntegrityError, NotFoundError
from cocite.systems.sentence_encoder.encoder import load_sentence_encoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder

WORDS = "a parser of trees finds the words in each sentence and learns from them".split()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"), WORDS)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    rng = np.random.default_rng(0)
    papers = [
        PaperRecord(f"p{i}", " ".join(rng.choice(WORDS, 4)), " ".join(rng.choice(WORDS, int(rng.integers(60)))))
        for i in range(30)
    ]  # fmt: skip
    return build([*papers, PaperRecord("bare", "only a title")], tmp_path_factory.mktemp("c") / "store")


def test_a_recipe_puts_it_into_a_model_folder_that_needs_nothing_else(
    source: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    arguments = ("--corpus", corpus.path, "--to", model, "--no-track", "--json")
    code, out, err = call(
        capsys, "train", "sentence", f"encoder={source}", "max_tokens=64", "precision=float32", *arguments
    )
    assert code == 0, err
    assert json.loads(out)["details"]["dimension"] == 32
    encoder = load_sentence_encoder(model / "sentence")
    assert encoder.dtype == torch.float32
    assert encoder.settings.max_tokens == 64
    assert encoder.encode(["a parser"]).dtype == np.float32
    code, out, err = call(
        capsys, "index", "build", corpus.path, "--to", tmp_path / "i", "--model", model, "--json"
    )
    assert json.loads(out)["encoder_ids"] == {"sentence": encoder.id}


def test_unfit_encoders_are_refused(source: Path, tmp_path: Path) -> None:
    def save(name: str, tokens: int = 64) -> None:
        recipe = SentenceRecipe(encoder=name, max_tokens=tokens)
        save_sentence_encoder(tmp_path / "out", recipe, {})

    with pytest.raises(NotFoundError, match="HF_HUB_OFFLINE forbids to ask the hub"):
        save("nobody/has-this-encoder")
    with pytest.raises(InputError, match="max_tokens = 256, and the encoder reads 128"):
        save(str(source), 256)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CociteError, match=r"config\.json"):
        save(str(tmp_path / "empty"))
    assert not (tmp_path / "out").exists()
    save(str(source))
    (tmp_path / "out" / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(IntegrityError, match=r"model\.safetensors: damaged"):
        load_sentence_encoder(tmp_path / "out")
    seal(tmp_path / "out", kind="sentence", meta={})
    with pytest.raises(IntegrityError, match="weights cannot be read"):
        load_sentence_encoder(tmp_path / "out")

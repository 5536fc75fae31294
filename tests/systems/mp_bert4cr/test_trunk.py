"""The frozen trunk: where it is found, what tells it from another, and its vectors against Hugging Face's forward."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.small_trunk import WIDTH, save_small_trunk
from transformers import AutoModel

from cocite.errors import ConfigError, NotFoundError
from cocite.systems.mp_bert4cr.trunk import (
    SentenceTrunk,
    TrunkSettings,
    load_backbone,
    load_trunk,
    save_backbone,
)
from cocite.text.sentence_texts import SentenceReader

TEXTS = ["graph parsing of sentences", "neural translation of words", "we parse and translate"] * 3


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    save_small_trunk(tmp_path / "masked-lm", TEXTS)
    return tmp_path


@pytest.mark.parametrize("layers", [None, 1])
def test_a_vector_is_the_mean_of_the_tokens_states(model_folder: Path, layers: int | None) -> None:
    settings = TrunkSettings(encoder="masked-lm", layers=layers)
    backbone, tokenizer = load_backbone(settings, model_folder, 12)
    trunk = SentenceTrunk(backbone, tokenizer, dtype=torch.float32)
    sentences = SentenceReader(tokenizer, 12).tokens(TEXTS[:3])
    found = trunk.vectors(sentences)
    model = AutoModel.from_pretrained(model_folder / "masked-lm", add_pooling_layer=False).eval()
    model.encoder.layer = model.encoder.layer[: layers or 2]
    for i, text in enumerate(TEXTS[:3]):
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        mean = states.mean(0)
        np.testing.assert_allclose(found[i], (mean / mean.norm()).numpy(), atol=1e-5)
    assert trunk.vectors(sentences.take(np.array([], np.int64))).shape == (0, WIDTH)


def test_a_copy_of_the_lower_layers_gives_the_same_vectors(model_folder: Path, tmp_path: Path) -> None:
    settings = TrunkSettings(encoder="masked-lm", layers=1)
    save_backbone(settings, model_folder, 12, tmp_path / "copy")
    backbone, tokenizer = load_backbone(settings, model_folder, 12)
    sentences = SentenceReader(tokenizer, 12).tokens(TEXTS[:3])
    one = SentenceTrunk(backbone, tokenizer, dtype=torch.float32).vectors(sentences)
    other = load_trunk(tmp_path / "copy", dtype=torch.float32).vectors(sentences)
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_two_copies_are_the_same_files(model_folder: Path, tmp_path: Path) -> None:
    settings = TrunkSettings(encoder="masked-lm")
    for name in ("one", "two"):
        save_backbone(settings, model_folder, 12, tmp_path / name)
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two")
    ]
    assert files[0] == files[1]
    assert load_trunk(tmp_path / "one").id == load_trunk(tmp_path / "two").id
    save_small_trunk(model_folder / "masked-lm", TEXTS, seed=1)
    save_backbone(settings, model_folder, 12, tmp_path / "other")
    assert load_trunk(tmp_path / "other").id != load_trunk(tmp_path / "one").id


def test_it_is_an_artifact_of_the_model_folder_or_a_path(model_folder: Path) -> None:
    inside = TrunkSettings(encoder="masked-lm")
    outside = TrunkSettings(encoder=str(model_folder / "masked-lm"))
    assert (inside.components, outside.components) == (("masked-lm",), ())
    assert inside.place(model_folder) == outside.place(model_folder)
    with pytest.raises(NotFoundError, match="holds no sentence, which is to be the trunk"):
        TrunkSettings(encoder="sentence").place(model_folder)
    assert TrunkSettings().fingerprints(model_folder) == {}


def test_other_weights_under_the_same_name_are_another_trunk(model_folder: Path) -> None:
    settings = TrunkSettings(encoder="masked-lm")
    before = settings.fingerprints(model_folder)
    assert before == settings.fingerprints(model_folder)
    save_small_trunk(model_folder / "masked-lm", TEXTS, seed=1)
    assert settings.fingerprints(model_folder) != before


def test_sentences_longer_than_it_reads_are_refused(model_folder: Path) -> None:
    with pytest.raises(ConfigError, match="sentence_tokens is 40, and the trunk reads 39"):
        load_backbone(TrunkSettings(encoder="masked-lm"), model_folder, 40)

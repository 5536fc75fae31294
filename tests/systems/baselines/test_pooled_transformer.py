"""Any transformer as a baseline: its name, its fingerprint, its refusals."""

from __future__ import annotations

import pytest
import torch
from helpers.tiny_bert import tiny_bert
from transformers import AutoModel, AutoTokenizer

from cocite.errors import NotFoundError
from cocite.protocols import Encoder
from cocite.systems.baselines import pooled_transformer as pooled
from cocite.systems.baselines.pooled_transformer import PooledEncoder, pooled_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("encoder") / "tiny", ["parsing"])


@pytest.fixture(scope="module")
def encoder(folder) -> PooledEncoder:
    return pooled_encoder(str(folder))


def test_its_name_is_that_of_the_loaded_model(encoder, folder) -> None:
    assert encoder.name == "tiny (local encoder)"
    assert isinstance(encoder, Encoder)
    assert encoder.settings.max_tokens == 128
    with pytest.raises(NotFoundError, match="HF_HUB_OFFLINE forbids to ask the hub"):
        pooled_encoder("scibert")


def test_its_fingerprint_is_that_of_the_weights(encoder, folder, tmp_path) -> None:
    assert pooled_encoder(str(folder)).id == encoder.id
    assert pooled_encoder(str(tiny_bert(tmp_path / "tiny", ["parsing"], seed=1))).id != encoder.id
    assert pooled_encoder(str(tiny_bert(tmp_path / "more", ["parsing", "tagging"]))).id != encoder.id


def test_a_pooler_that_the_folder_lacks_is_no_part_of_the_fingerprint(folder, tmp_path) -> None:
    AutoModel.from_pretrained(folder, add_pooling_layer=False).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    loaded = [pooled.backbones.load(str(tmp_path), with_head=False).backbone for _ in range(2)]
    assert not torch.equal(*[model.get_submodule("pooler.dense").weight for model in loaded])
    assert pooled_encoder(str(tmp_path)).id == pooled_encoder(str(tmp_path)).id


def test_short_names_are_the_papers_encoders() -> None:
    assert pooled.HUB["specter"] == "allenai/specter"

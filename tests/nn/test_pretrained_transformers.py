"""Pretrained encoders: what is loaded, what is refused, and layers and dropout changed in place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.small_berts import small_bert
from helpers.tiny_bert import tiny_bert
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import BertForSequenceClassification, DistilBertConfig, DistilBertModel, T5Config

from cocite.artifacts import seal
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.nn.pretrained_transformers import Layers, keep_layers, layer_list, load, set_dropout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_bert(tmp_path / "bert", ["word"])


def test_an_encoder_is_loaded_with_its_tokenizer(folder: Path) -> None:
    pretrained = load(str(folder))
    assert pretrained.head is None
    assert not pretrained.backbone.training
    assert all(weight.dtype == torch.float32 for weight in pretrained.backbone.parameters())
    weights = load_file(folder / "model.safetensors")
    name = "embeddings.word_embeddings.weight"
    assert torch.equal(pretrained.backbone.get_parameter(name), weights[name])
    assert pretrained.tokenizer.tokenize("word") == ["word"]


@pytest.mark.parametrize("labels", [1, 2])
def test_a_published_reranker_is_loaded_with_its_classifier(folder: Path, labels: int) -> None:
    torch.manual_seed(0)
    reranker = BertForSequenceClassification.from_pretrained(folder, num_labels=labels)
    reranker.save_pretrained(folder)
    pretrained = load(str(folder))
    if labels == 1:
        assert pretrained.head is not None
        assert torch.equal(pretrained.head.weight, reranker.classifier.weight)
    else:
        assert pretrained.head is None
    assert load(str(folder), with_head=False).head is None
    for name, weight in reranker.bert.named_parameters():
        assert torch.equal(pretrained.backbone.get_parameter(name), weight), name


def test_a_folder_without_config_or_weights_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "kept")
    with pytest.raises(NotFoundError, match=r"holds no model\.safetensors"):
        load(str(folder))
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(InputError, match=r"its weights are a pickle \(pytorch_model\.bin\), which is never"):
        load(str(folder))
    (folder / "config.json").unlink()
    with pytest.raises(NotFoundError, match=r"holds no config\.json"):
        load(str(folder))


def test_weights_that_leave_some_random_are_refused(folder: Path) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    lost = "encoder.layer.1.output.dense.bias"
    save_file({name: w for name, w in weights.items() if name != lost}, path, {"format": "pt"})
    with pytest.raises(IntegrityError, match=r"the weights lack .*encoder\.layer\.1\.output\.dense\.bias"):
        load(str(folder))
    save_file({name: w for name, w in weights.items() if "pooler" not in name}, path, {"format": "pt"})
    assert load(str(folder)).head is None  # no encoder here reads the pooler
    path.write_bytes(b"nothing")
    with pytest.raises(IntegrityError, match="the weights cannot be read"):
        load(str(folder))


def test_what_is_no_encoder_is_refused(folder: Path) -> None:
    config = T5Config(d_model=8, d_kv=4, num_heads=2, num_layers=1, d_ff=16).to_dict()
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="a t5 is no encoder alone"):
        load(str(folder))
    (folder / "config.json").write_text(json.dumps({"model_type": "none-such"}))
    with pytest.raises(InputError, match="cannot be loaded"):
        load(str(folder))


def test_a_damaged_artifact_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "artifact")
    seal(tmp_path / "artifact", kind="masked-lm", meta={})
    load(str(tmp_path / "artifact"))
    (tmp_path / "artifact" / "tokenizer.json").write_text("{}")
    with pytest.raises(IntegrityError, match=r"tokenizer\.json: damaged"):
        load(str(tmp_path / "artifact"))


@pytest.mark.parametrize(("layers", "kept"), [(None, [0, 1, 2]), (2, [0, 1]), ("alternate", [0, 2])])
def test_layers_are_left_out_in_place(layers: Layers, kept: list[int]) -> None:
    backbone = small_bert(num_hidden_layers=3)
    before = list(layer_list(backbone))
    keep_layers(backbone, layers)
    assert [before.index(layer) for layer in layer_list(backbone)] == kept
    assert backbone.config.num_hidden_layers == len(kept)
    assert backbone(torch.tensor([[1, 2]])).last_hidden_state.shape == (1, 2, 32)


def test_layers_that_do_not_exist_are_refused() -> None:
    backbone = small_bert()
    for layers in (3, 0):
        with pytest.raises(InputError, match=f"the backbone has 2 layers, not {layers}"):
            keep_layers(backbone, layers)
    backbone.config.num_hidden_layers = 5
    with pytest.raises(InputError, match="the layers of a bert are not found"):
        layer_list(backbone)


def distilbert() -> Any:
    small = {"vocab_size": 80, "dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 64}
    return DistilBertModel(DistilBertConfig(**small))


@pytest.mark.parametrize("make", [small_bert, distilbert])
def test_every_dropout_is_set(make: Any) -> None:
    backbone = make()
    set_dropout(backbone, 0.35)
    rates = [module.p for module in backbone.modules() if isinstance(module, nn.Dropout)]
    assert rates
    assert set(rates) == {0.35}
    backbone.train()
    ids = torch.tensor([[1, 2, 3]])
    assert not torch.equal(backbone(ids).last_hidden_state, backbone(ids).last_hidden_state)
    set_dropout(backbone, 0.0)
    assert torch.equal(backbone(ids).last_hidden_state, backbone(ids).last_hidden_state)

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.tiny_bert import tiny_bert
from tokenizers import Tokenizer
from tokenizers.processors import Sequence
from torch import nn
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertModel,
    GPT2Config,
    GPT2Model,
    PreTrainedTokenizerFast,
)

from cocite.artifacts import publish, seal
from cocite.errors import ConfigError, InputError, IntegrityError, NotFoundError
from cocite.nn.pretrained_transformers import layer_list
from cocite.protocols import Query
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.text.pair_batch import PairBatch
from cocite.text.pair_tokenizer import PairSettings

PAIRS = PairSettings(query_tokens=40, candidate_tokens=24)
QUERY = Query("1", "trees that grow TARGETCIT tall", "green trees", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(
        tmp_path_factory.mktemp("backbone") / "bert", ["trees", "that", "grow", "tall", "green", "the"]
    )


@pytest.fixture
def model(folder: Path) -> CrossEncoder:
    torch.manual_seed(1)
    return CrossEncoder.from_pretrained(folder, PAIRS).eval()


def batch(model: CrossEncoder) -> PairBatch:
    papers = model.pairs.papers(["the trees", "tall", "green the green"], ["grow tall", "", "trees"])
    return model.pairs.batch(model.pairs.queries([QUERY]).take(np.zeros(3, int)), papers)


def scores(model: CrossEncoder) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(batch(model))
    return found


def edited(folder: Path, target: Path, **values: Any) -> Path:
    """A copy of a model folder with other values in its config."""
    shutil.copytree(folder, target)
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(config | values))
    return target


def test_packed_and_padded_forward_agree(model: CrossEncoder) -> None:
    some = batch(model)
    with torch.no_grad():
        torch.testing.assert_close(scores(model), model.logits(model.first_padded(some)))


def test_saved_and_loaded(model: CrossEncoder, tmp_path: Path) -> None:
    id_ = model.save(tmp_path / "model" / "cross-encoder", {"note": "x"})
    for place in (tmp_path / "model", tmp_path / "model" / "cross-encoder"):
        loaded = CrossEncoder.load(place)
        assert torch.equal(scores(loaded), scores(model))
        assert loaded.pairs.settings == PAIRS
        assert loaded.id == id_ == model.id
    assert not list(tmp_path.rglob("*.bin"))
    backbone = AutoModel.from_pretrained(tmp_path / "model" / "cross-encoder")
    assert torch.equal(
        backbone.embeddings.word_embeddings.weight, model.backbone.embeddings.word_embeddings.weight
    )
    model.head.bias.data += 1
    assert model.save(tmp_path / "model" / "cross-encoder") != id_


def test_a_gap_token_of_its_own_survives(folder: Path, tmp_path: Path) -> None:
    model = CrossEncoder.from_pretrained(folder, PAIRS.model_copy(update={"gap": "[CIT]"})).eval()
    assert model.backbone.config.vocab_size == model.pairs.vocabulary_size
    model.save(tmp_path / "model")
    loaded = CrossEncoder.load(tmp_path / "model")
    assert loaded.pairs.gap == model.pairs.gap
    assert torch.equal(scores(loaded), scores(model))


def test_training_goes_on_from_an_artifact_with_its_head(model: CrossEncoder, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    again = CrossEncoder.from_pretrained(tmp_path / "model")
    assert torch.equal(again.head.weight, model.head.weight)
    assert again.id == ""
    other = CrossEncoder.from_pretrained(
        tmp_path / "model", PairSettings(query_tokens=20, candidate_tokens=20)
    )
    assert other.pairs.settings.total == 40


def test_a_published_reranker_keeps_pooler_and_classifier(folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = BertConfig.from_pretrained(folder, num_labels=1)
    published = BertForSequenceClassification(config).eval()
    published.save_pretrained(tmp_path / "reranker")
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "reranker")
    model = CrossEncoder.from_pretrained(tmp_path / "reranker", PAIRS).eval()
    assert model.pooled
    ids, types, mask = batch(model).padded(0)
    with torch.no_grad():
        wanted = published(input_ids=ids, token_type_ids=types, attention_mask=mask.long()).logits[:, 0]
    torch.testing.assert_close(scores(model), wanted)
    model.save(tmp_path / "saved")
    assert torch.equal(scores(CrossEncoder.load(tmp_path / "saved")), scores(model))


def test_an_encoder_of_another_family(tmp_path: Path, folder: Path) -> None:
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    config = DistilBertConfig(
        vocab_size=len(tokenizer), dim=32, n_layers=4, n_heads=2, hidden_dim=64, max_position_embeddings=64
    )
    DistilBertModel(config).save_pretrained(tmp_path / "distil")
    tokenizer.save_pretrained(tmp_path / "distil")
    model = CrossEncoder.from_pretrained(tmp_path / "distil", PAIRS, layers="alternate", dropout=0.0)
    assert torch.equal(scores(model.train()), scores(model.eval()))
    assert len(layer_list(model.backbone)) == 2
    model.save(tmp_path / "model")
    assert torch.equal(scores(CrossEncoder.load(tmp_path / "model")), scores(model))


@pytest.mark.parametrize(("layers", "kept"), [(None, [0, 1]), (1, [0]), (2, [0, 1]), ("alternate", [0])])
def test_layers(folder: Path, layers: Any, kept: list[int]) -> None:
    whole = CrossEncoder.from_pretrained(folder, PAIRS)
    some = CrossEncoder.from_pretrained(folder, PAIRS, layers=layers)
    assert some.backbone.config.num_hidden_layers == len(kept)
    for mine, place in zip(layer_list(some.backbone), kept, strict=True):
        theirs = layer_list(whole.backbone)[place]
        assert all(map(torch.equal, mine.state_dict().values(), theirs.state_dict().values()))


def test_dropout(folder: Path) -> None:
    model = CrossEncoder.from_pretrained(folder, PAIRS)
    assert {part.p for part in model.modules() if isinstance(part, nn.Dropout)} == {0.1}
    model = CrossEncoder.from_pretrained(folder, PAIRS, dropout=0.0)
    assert {part.p for part in model.modules() if isinstance(part, nn.Dropout)} == {0.0}
    assert (
        model.backbone.config.attention_probs_dropout_prob == model.backbone.config.hidden_dropout_prob == 0
    )


def test_gradient_checkpointing_passes_through(model: CrossEncoder) -> None:
    model.gradient_checkpointing_enable()
    assert all(layer.gradient_checkpointing for layer in layer_list(model.backbone))


# -- refusals -------------------------------------------------------------------------------------------------


def test_a_name_that_no_hub_can_be_asked_for() -> None:
    with pytest.raises(NotFoundError, match="HF_HUB_OFFLINE forbids to ask the hub") as told:
        CrossEncoder.from_pretrained("somebody/some-encoder", PAIRS)
    assert str(told.value).startswith("somebody/some-encoder: ")


def test_folders_that_hold_no_model(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"holds no config\.json"):
        CrossEncoder.from_pretrained(tmp_path)
    empty = edited(folder, tmp_path / "empty")
    (empty / "model.safetensors").unlink()
    with pytest.raises(NotFoundError, match=r"holds no model\.safetensors"):
        CrossEncoder.from_pretrained(empty)
    (empty / "pytorch_model.bin").write_bytes(b"\x80\x04")
    with pytest.raises(InputError, match="a pickle .* never loaded"):
        CrossEncoder.from_pretrained(empty)


def test_unfit_architectures_are_refused(folder: Path, tmp_path: Path) -> None:
    unknown = edited(folder, tmp_path / "unknown", model_type="perceptron-2")
    with pytest.raises(InputError, match="perceptron-2"):
        CrossEncoder.from_pretrained(unknown)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    left = GPT2Model(GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=1, n_head=2, n_positions=64))
    left.save_pretrained(tmp_path / "left")
    bare = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    bare.post_processor = Sequence([])
    PreTrainedTokenizerFast(tokenizer_object=bare, mask_token="[MASK]").save_pretrained(tmp_path / "left")
    with pytest.raises(InputError, match=r"sets no \[CLS\]"):
        CrossEncoder.from_pretrained(tmp_path / "left", PAIRS)


def test_weights_that_are_damaged_or_of_another_shape(folder: Path, tmp_path: Path) -> None:
    other = edited(folder, tmp_path / "other", num_hidden_layers=3)
    with pytest.raises(IntegrityError, match=r"lack 'encoder\.layer\.2"):
        CrossEncoder.from_pretrained(other, PAIRS)
    cut = edited(folder, tmp_path / "cut")
    weights = (cut / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(IntegrityError, match="cannot be read"):
        CrossEncoder.from_pretrained(cut, PAIRS)


def test_budgets_beyond_what_the_model_reads(folder: Path) -> None:
    with pytest.raises(ConfigError, match="is 512, and the model reads 128 tokens"):
        CrossEncoder.from_pretrained(folder)


def test_artifacts_of_another_kind_or_without_a_head(
    folder: Path, model: CrossEncoder, tmp_path: Path
) -> None:
    with publish(tmp_path / "other", kind="nnrank", meta={}):
        pass
    with pytest.raises(InputError, match="is a nnrank, not a cross-encoder"):
        CrossEncoder.load(tmp_path / "other")
    model.save(tmp_path / "model")
    shutil.copy(folder / "model.safetensors", tmp_path / "model" / "model.safetensors")
    seal(tmp_path / "model", kind="cross-encoder", meta={})
    with pytest.raises(IntegrityError, match="holds no head that fits"):
        CrossEncoder.load(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    del config["cocite"]
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    seal(tmp_path / "model", kind="cross-encoder", meta={})
    with pytest.raises(IntegrityError, match="says nothing under 'cocite'"):
        CrossEncoder.load(tmp_path / "model")


def test_more_layers_than_there_are(folder: Path) -> None:
    with pytest.raises(InputError, match="has 2 layers, not 5"):
        CrossEncoder.from_pretrained(folder, PAIRS, layers=5)

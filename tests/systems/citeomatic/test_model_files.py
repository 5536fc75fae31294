from __future__ import annotations

from pathlib import Path

import pytest
from helpers.citeomatic import untrained_nnrank

from cocite.errors import IntegrityError
from cocite.manifests import read_manifest
from cocite.systems.citeomatic.model_files import load_weights, open_network
from cocite.systems.citeomatic.nnselect.encoder import NNSelectConfig, load_encoder, save_nnselect
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.text.fields import FieldEncoder


@pytest.fixture
def folder(tmp_path: Path, nnselect: NNSelect, fields: FieldEncoder) -> Path:
    save_nnselect(tmp_path / "nnselect", nnselect, fields, {"note": "mine"})
    return tmp_path


def test_damaged_weights_are_named(folder: Path) -> None:
    (folder / "nnselect" / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(IntegrityError, match=r"nnselect/model\.safetensors"):
        load_encoder(folder)


def test_weights_of_another_network_are_refused(folder: Path, fields: FieldEncoder) -> None:
    with pytest.raises(IntegrityError, match="does not fit config and vocabulary"):
        load_weights(folder / "nnselect", untrained_nnrank(fields))


def test_what_was_written_is_opened_with_its_configuration(folder: Path, nnselect: NNSelect) -> None:
    path, manifest, config = open_network(folder, "nnselect", NNSelectConfig)
    assert path == folder / "nnselect"
    assert manifest.meta["note"] == read_manifest(path).meta["note"] == "mine"
    assert config.dimension == nnselect.dimension


def test_an_artifact_is_replaced_by_the_next(folder: Path, nnselect: NNSelect, fields: FieldEncoder) -> None:
    before = load_encoder(folder).id
    nnselect.lambda_title.data += 1
    save_nnselect(folder / "nnselect", nnselect, fields, {})
    assert load_encoder(folder).id != before

"""Golden queries of a model that is about to be registered."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.served_cross_encoder import cross_encoder_folder

from cocite.corpus.starter import build_starter
from cocite.manifests import read_manifest
from cocite.pipeline.golden_queries import FILE, FOLDER
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_jobs.training.golden import golden_note


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return folder / "index"


def test_they_are_made_where_an_index_is_at_hand(index: Path, tmp_path: Path) -> None:
    model = cross_encoder_folder(tmp_path)
    assert "the model keeps no golden queries of its own" in golden_note(model, None)
    assert golden_note(model, index) == "kept 8 golden queries with the model"
    assert list(read_manifest(model / FOLDER).files) == [FILE]
    assert golden_note(model, None) == ""


def test_an_index_that_does_not_serve_is_told_and_keeps_nothing_back(tmp_path: Path) -> None:
    model = cross_encoder_folder(tmp_path)
    note = golden_note(model, tmp_path / "none")
    assert note.startswith("warning: no golden queries were made: ")
    assert "none" in note
    assert not (model / FOLDER).exists()

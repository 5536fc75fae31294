"""A worker refuses what it does not see as the driver does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.untrained_encoders import untrained_encoders

from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import read_manifest
from cocite_jobs.steps.embedding.blocks import Blocks
from cocite_jobs.steps.parts import Part
from cocite_jobs.storage.location import Location


def test_a_worker_that_sees_something_else_says_so(tmp_path: Path) -> None:
    corpus = starter_corpus()
    model = untrained_encoders(corpus, tmp_path / "model")
    digest = read_manifest(model / "nnselect").digest
    to = Location.of(tmp_path / "v")
    blocks = Blocks(str(corpus.path), corpus.version, str(model), "nnselect", digest, to)
    result = blocks.open()(Part("000002", 10, (2, 20, 30)))
    assert (result["file"], result["rows"], result["dimension"]) == ("000002.npy", 10, 8)
    assert result["entry"]["bytes"] == len(to.read("000002.npy") or b"")
    for other in (replace(blocks, corpus_version="12ab"), replace(blocks, encoder_id="34cd")):
        with pytest.raises(InputError, match="sees another (corpus|model) here than the command"):
            other.open()
    with pytest.raises(NotFoundError, match="which makes a part, sees no such folder"):
        replace(blocks, model=str(tmp_path / "nothing")).open()

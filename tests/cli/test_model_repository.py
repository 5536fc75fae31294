"""``cocite model export`` and ``import``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.model_folders import add_blend
from helpers.published_models import add_cross_encoder, add_sentence_encoder
from huggingface_hub import ModelCard

from cocite.corpus.starter import build_starter


def test_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model"
    add_sentence_encoder(model)
    add_blend(model, local={"weights": {"whole>text": 1.0}})
    line = ("model", "export", model, "--to", tmp_path / "out")
    options = ("--license", "apache-2.0", "--name", "me/small", "--dataset", "me/a", "--dataset", "me/b")
    code, out, err = call(capsys, *line, *options, "--base-model", "org/base")
    assert (code, out.splitlines()) == (0, ["sentence: sentence-transformers", "blend: cocite"])
    weights = f"{tmp_path}/model-bert-weights"
    said = f"cocite: warning: the manifests, which are published, name paths of this machine: {weights}"
    assert "".join(err.split()).endswith("".join(said.split()))
    data = ModelCard.load(tmp_path / "out" / "README.md").data
    assert (data.license, data.datasets, data.base_model) == ("apache-2.0", ["me/a", "me/b"], ["org/base"])
    code, out, err = call(capsys, "model", "import", tmp_path / "out", "--to", tmp_path / "again")
    assert (code, err) == (0, "")
    assert "".join(out.split()) == f"{tmp_path}/again:sentence,blend,undamaged"
    code, out, _ = call(capsys, "model", "verify", tmp_path / "again", "--json")
    assert (code, [part["part"] for part in json.loads(out)["parts"]]) == (0, ["blend", "sentence"])
    code, out, err = call(capsys, *line)
    assert (code, "already exists" in err) == (2, True)
    code, out, err = call(capsys, *line, "--replace", "--json")
    assert (code, json.loads(out)["parts"]) == (0, {"sentence": "sentence-transformers", "blend": "cocite"})
    assert ModelCard.load(tmp_path / "out" / "README.md").data.license is None


def test_the_corpus_gives_its_years(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = build_starter(tmp_path / "corpus")
    options = ("--to", tmp_path / "out", "--corpus", tmp_path / "corpus")
    code, _, err = call(capsys, "model", "export", add_cross_encoder(tmp_path / "other"), *options)
    assert (code, "--corpus: its version is" in err) == (2, True)
    part = add_cross_encoder(tmp_path / "model", corpus=corpus.version)
    code, out, _ = call(capsys, "model", "export", part, *options)
    assert (code, out.splitlines()[-1]) == (0, "README.md names no license: --license names one")
    assert "has 423 papers: train 250 papers" in (tmp_path / "out" / "README.md").read_text()
    code, out, _ = call(capsys, "model", "import", tmp_path / "out", "--to", tmp_path / "part", "--json")
    assert (code, json.loads(out)) == (0, {"to": str(tmp_path / "part"), "parts": ["cross-encoder"]})

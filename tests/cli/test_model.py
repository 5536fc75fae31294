"""``cocite model``: what a model folder holds, and whether it is undamaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command_line import call

from cocite.artifacts import publish
from cocite.corpus.starter import build_starter
from cocite.manifests import read_manifest
from cocite.pipeline import components
from cocite.pipeline.weights import Blend, KindWeights
from cocite.retrieval.index.snapshot import IndexSnapshot


@pytest.fixture
def model(tmp_path: Path) -> Path:
    meta = {"corpus": "0123456789abcdef", "dev": {"MRR": 0.52341, "loss": 0.1, "seconds": 3.0}}
    for name, said in {"nnselect": meta, "blend": {}, ".nnrank.0.tmp": {}}.items():
        with publish(tmp_path / "model" / name, kind=name, meta=said) as folder:
            (folder / "weights").write_bytes(b"\0" * 1_500_000)
    (tmp_path / "model" / ".nnselect.lock").touch()
    return tmp_path / "model"


def test_parts_are_listed_with_corpus_and_dev_metrics(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(capsys, "model", "list", model)
    assert code == 0
    lines = [line.split("│")[1:-1] for line in out.splitlines() if line.startswith("│")]
    version = read_manifest(model / "nnselect").digest
    expected = ["nnselect", "nnselect", "1.5", version, "0123456789abcdef", "MRR 0.523"]
    assert [cell.strip() for cell in lines[1]] == expected
    assert [cell.strip() for cell in lines[0]][4:] == ["–", "–"]
    assert len(lines) == 2
    code, out, _ = call(capsys, "model", "list", model, "--json")
    blend, nnselect = json.loads(out)
    assert nnselect == {
        "part": "nnselect",
        "kind": "nnselect",
        "version": version,
        "files": 1,
        "bytes": 1_500_000,
        "corpus": "0123456789abcdef",
        "dev": {"MRR": 0.52341},
    }
    assert (blend["part"], blend["corpus"], blend["dev"]) == ("blend", None, {})


def test_every_byte_is_verified(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "model", "verify", model)
    version = read_manifest(model / "blend").digest
    assert (code, out.splitlines()[0]) == (0, f"blend: 1 files, 1.5 MB, undamaged (version {version})")
    code, out, _ = call(capsys, "model", "verify", model / "nnselect", "--json")
    assert (code, [part["part"] for part in json.loads(out)["parts"]]) == (0, ["nnselect"])
    (model / "nnselect" / "weights").write_bytes(b"\0" * 1_499_999 + b"\1")
    code, out, err = call(capsys, "model", "verify", model)
    assert (code, out) == (3, "")
    assert "model/nnselect/weights: damaged: its SHA-256" in err


@pytest.mark.parametrize("command", ["list", "verify"])
def test_a_folder_without_a_model_is_refused(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call(capsys, "model", command, tmp_path)
    assert (code, "holds no model" in err) == (2, True)
    code, _, err = call(capsys, "model", command, tmp_path / "none")
    assert (code, "no such model folder" in err) == (2, True)


def test_golden_queries_are_kept_as_a_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    IndexSnapshot.create(build_starter(tmp_path / "corpus"), tmp_path / "index")
    model = tmp_path / "model"
    Blend(local=KindWeights(weights={"whole>text": 1.0})).save(model / "blend", meta={})
    code, out, _ = call(capsys, "model", "golden", model, "--index", tmp_path / "index", "--number", 2)
    assert (code, out.split(":")[1].split(",")[0]) == (
        0,
        f" 2 golden queries of model {components.version(model)}",
    )
    code, out, _ = call(capsys, "model", "golden", model, "--index", tmp_path / "index", "--json")
    assert (code, json.loads(out)["queries"]) == (0, 8)
    code, out, _ = call(capsys, "model", "verify", model, "--json")
    assert (code, [part["part"] for part in json.loads(out)["parts"]]) == (0, ["blend", "golden"])

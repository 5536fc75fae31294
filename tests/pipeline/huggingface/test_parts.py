"""Which parts are published, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.artifacts import publish
from cocite.errors import InputError, NotFoundError
from cocite.manifests import Manifest
from cocite.pipeline.components import component_names
from cocite.pipeline.huggingface.parts import KINDS, Part, parts_of


def write(folder: Path, kind: str, **meta: object) -> None:
    with publish(folder, kind=kind, meta=dict(meta)) as temporary:
        (temporary / "weights").write_text("1")


def test_every_component_is_published() -> None:
    assert set(component_names()) <= set(KINDS)


def test_a_folder_and_a_part_alone(tmp_path: Path) -> None:
    for name, kind in {"final": "learned-fusion", "nnselect": "nnselect", "golden": "golden-queries"}.items():
        write(tmp_path / "model" / name, kind)
    write(tmp_path / "model" / ".nnrank.0.tmp", "nnrank")
    (tmp_path / "model" / "logs").mkdir()
    parts, others = parts_of(tmp_path / "model")
    assert [(part.name, part.folder) for part in parts] == [
        (name, tmp_path / "model" / name) for name in ("nnselect", "final")
    ]
    assert others == ["golden"]
    alone, others = parts_of(tmp_path / "model" / "final")
    assert ([part.name for part in alone], others) == (["final"], [])
    (tmp_path / "model" / "final").rename(tmp_path / "renamed")
    assert [part.name for part in parts_of(tmp_path / "renamed")[0]] == ["fusion"]


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="none: no such model folder"):
        parts_of(tmp_path / "none")
    with pytest.raises(NotFoundError, match="holds none of nnselect, "):
        parts_of(tmp_path)
    write(tmp_path / "golden", "golden-queries")
    with pytest.raises(InputError, match="golden: is a golden-queries, which is not published"):
        parts_of(tmp_path / "golden")
    write(tmp_path / "model" / "hatten", "corpus")
    with pytest.raises(InputError, match="hatten: is a corpus, not a hatten"):
        parts_of(tmp_path / "model")


def test_figures_and_weights_of_a_manifest(tmp_path: Path) -> None:
    def part(**meta: object) -> Part:
        return Part("cross-encoder", tmp_path, Manifest("cross-encoder", dict(meta), {}))

    dev = {"MRR": 0.5, "loss": 1.0, "seconds": 2.0, "R@10": float("nan"), "best": "x", "queries": 7}
    assert part(dev=dev).dev == {"MRR": 0.5, "queries": 7.0}
    assert (part(dev=[1]).dev, part().dev, part(corpus=3).corpus) == ({}, {}, None)
    folder = tmp_path / "weights"
    folder.mkdir()
    for name, base in {
        "org/name": "org/name",
        str(folder): None,
        "a/b/c": None,
        "./a": None,
        "": None,
    }.items():
        assert part(recipe={"encoder": name}).base == base
    assert part(recipe={"encoder": str(folder)}).encoder == str(folder)

"""Model and index folders of a few bytes: enough for whoever reads manifests alone."""

from __future__ import annotations

from pathlib import Path

from cocite.artifacts import publish
from cocite.manifests import read_manifest


def model(folder: Path, **members: str) -> Path:
    for name, weight in members.items():
        with publish(folder / name, kind=name, meta={}) as temporary:
            (temporary / "model.safetensors").write_text(weight)
    return folder


def index(folder: Path, *models: Path, version: str = "000001") -> Path:
    ids = {part.name: read_manifest(part).digest for one in models for part in one.iterdir() if part.is_dir()}
    with publish(folder / "versions" / version, kind="index", meta={"encoder_ids": ids}):
        pass
    (folder / "CURRENT").write_text(version)
    return folder

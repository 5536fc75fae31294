"""Releases for rollouts of a real endpoint: copies of a model folder with other weights, and damaged indexes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from cocite.artifacts import publish
from cocite.manifests import read_manifest
from cocite.retrieval.index.snapshot import IndexSnapshot


def changed(
    model: Path, to: Path, change: Callable[[str, torch.Tensor], torch.Tensor], layers: int | None = None
) -> Path:
    """A copy of a model whose cross-encoder has other weights, with the golden queries of the first.

    It is a whole artifact, as a training would leave it. With ``layers`` it has that many, see :func:`deepened`.
    """
    shutil.copytree(model, to)
    source = model / "cross-encoder"
    manifest = read_manifest(source)
    with publish(to / "cross-encoder", kind=manifest.kind, meta=manifest.meta, replace=True) as folder:
        for name in manifest.files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, folder / name)
        weights = load_file(folder / "model.safetensors")
        if layers is not None:
            weights = deepened(folder / "config.json", weights, layers)
        save_file(
            {name: change(name, value) for name, value in weights.items()}, folder / "model.safetensors"
        )
    return to


def deepened(config: Path, weights: dict[str, torch.Tensor], layers: int) -> dict[str, torch.Tensor]:
    """More layers, which hand on what they get: what they would add is multiplied by 0."""
    content = json.loads(config.read_text())
    last, content["num_hidden_layers"] = content["num_hidden_layers"] - 1, layers
    config.write_text(json.dumps(content))
    for name, value in list(weights.items()):
        if f".layer.{last}." in name:
            for number in range(last + 1, layers):
                zero = ".output.dense." in name
                copy = torch.zeros_like(value) if zero else value.clone()
                weights[name.replace(f".layer.{last}.", f".layer.{number}.")] = copy
    return weights


def same(name: str, value: torch.Tensor) -> torch.Tensor:
    """The weights themselves."""
    return value


def nan(name: str, value: torch.Tensor) -> torch.Tensor:
    """No weight is a number."""
    return torch.full_like(value, torch.nan)


def random(name: str, value: torch.Tensor) -> torch.Tensor:
    """Weights that were never trained."""
    return torch.randn(value.shape, generator=torch.Generator().manual_seed(len(name)))


def publish_without(index: Path, paper: str, *, damaged: bool = False) -> str:
    """Make a version without a paper the current one; with ``damaged`` one byte of one of its files was altered.

    The version is made in a copy, so that no process sees it before it is damaged. Returns its name.
    """
    copy = index.with_name(f"{index.name}-copy")
    shutil.copytree(index, copy)
    with closing(IndexSnapshot.remove(copy, [paper])) as removed:
        version = removed.version
    snapshot = index / "versions" / version
    shutil.copytree(copy / "versions" / version, snapshot)
    if damaged:
        file = max(snapshot.rglob("*.npy"), key=lambda path: path.stat().st_size)
        times, content = file.stat(), bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    shutil.copyfile(copy / "CURRENT", index / "CURRENT.new")
    (index / "CURRENT.new").replace(index / "CURRENT")
    shutil.rmtree(copy)
    return version

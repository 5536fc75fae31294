"""Opening the shards of an index version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cocite.artifacts import load_array
from cocite.errors import IntegrityError
from cocite.manifests import read_manifest
from cocite.retrieval.engines.anchor_texts import AnchorTexts
from cocite.retrieval.engines.bm25_files import load_indexes
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.index.shard_layout import CONTEXTS, PAPERS, SHARD_KIND, shard_folder
from cocite.retrieval.shards.shard import IndexShard

REBUILD = "restore the folder, or build the index again"


def check_shards(version: Path, described: Sequence[dict[str, Any]]) -> None:
    """Refuse a version whose shards are not those that its manifest describes; no large file is read.

    Args:
        version: the folder.
        described: what the manifest says of each shard.

    Raises:
        IntegrityError: a shard is missing, damaged, or belongs to another version.
    """
    for number in range(len(described)):
        check_shard(version, described, number)


def check_shard(version: Path, described: Sequence[dict[str, Any]], number: int) -> Path:
    """The folder of one shard; refuses one that is not the shard that the version's manifest describes.

    Args:
        version: the folder.
        described: what the manifest says of each shard.
        number: of the shard.

    Raises:
        IntegrityError: it is missing, damaged, or belongs to another version.
    """
    folder, name = shard_folder(version, number), f"shard {number + 1} of {len(described)}"
    if not folder.is_dir():
        raise IntegrityError(f"{name} is missing", where=str(folder), hint=REBUILD)
    digest, expected = read_manifest(folder, kind=SHARD_KIND).digest, described[number]["digest"]
    if digest != expected:
        raise IntegrityError(
            f"{name} belongs to another version: its digest is {digest}, not {expected}",
            where=str(folder),
            hint=REBUILD,
        )
    return folder


def open_shard(
    version: Path, described: Sequence[dict[str, Any]], number: int, *, threads: int = 1
) -> IndexShard:
    """Open one shard of a version; its arrays are memory-mapped.

    Args:
        version: the folder.
        described: what the manifest says of each shard.
        number: of the shard.
        threads: how many threads FAISS may use.

    Raises:
        InputError: an earlier cocite wrote the shard in a form that this one cannot read.
        IntegrityError: a file is not readable.
    """
    folder = shard_folder(version, number)
    alive = load_array(folder / "alive.npy", mapped=False)
    contexts = load_indexes(folder / CONTEXTS, ("contexts", "windows", "whole", "near"))
    return IndexShard(
        first=sum(shard["papers"] for shard in described[:number]),
        first_context=sum(shard["contexts"] for shard in described[:number]),
        papers=load_indexes(folder / PAPERS, ("text", "title")),
        contexts=contexts.pop("contexts"),
        anchors=AnchorTexts(**contexts),
        vectors={
            name: VectorIndex.load(folder / "vectors" / name, threads=threads)
            for name in described[number]["encoder_ids"]
        },
        years=load_array(folder / "years.npy"),
        alive=None if alive.all() else alive,
    )

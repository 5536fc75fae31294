"""Sizes of an index: the parts are all its files, each in one part."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import NotFoundError
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.sizes import part_sizes
from cocite.retrieval.index.snapshot import IndexSnapshot

LOADED = {"papers: vocabulary", "contexts: vocabulary", "history"}
"""Parts that opening reads; vectors that are searched exactly are mapped."""


def test_lists_of_vectors_are_read_and_exact_vectors_mapped(
    corpus: Corpus, root: Path, encoder: HashEncoder
) -> None:
    IndexSnapshot.create(corpus, root, encoders=[encoder], vector_kind="hnsw")
    parts = {part.part: part.loaded for part in part_sizes(root)}
    assert parts["vectors: hash, searched"]
    assert not parts["vectors: hash, exact"]


class WideEncoder(HashEncoder):
    """Gives vectors of 16 MB to 80 papers."""

    def __init__(self) -> None:
        super().__init__(dimension=50_000)

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        vectors = np.random.default_rng(0).standard_normal((len(rows), self.dimension), np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


_OPENED = "from cocite.retrieval.index.sizes import opened_bytes; print(opened_bytes({!r}))"


@pytest.mark.skipif(
    not Path("/proc/self/status").is_file(), reason="the system does not tell a process' memory"
)
def test_opening_takes_the_memory_of_what_it_reads(corpus: Corpus, tmp_path: Path) -> None:
    opened = {}
    for kind in ("flat", "hnsw"):
        root = str(tmp_path / kind)
        IndexSnapshot.create(corpus, root, encoders=[WideEncoder()], vector_kind=kind)
        said = subprocess.run(
            [sys.executable, "-c", _OPENED.format(root)], capture_output=True, text=True, check=True
        )
        opened[kind] = int(said.stdout)
    graph = next(part.bytes for part in part_sizes(tmp_path / "hnsw") if part.loaded and "hash" in part.part)
    assert opened["hnsw"] - opened["flat"] == pytest.approx(graph, rel=0.25)


def test_the_parts_are_all_files(corpus: Corpus, root: Path, encoder: HashEncoder) -> None:
    snapshot = IndexSnapshot.create(corpus, root, encoders=[encoder])
    parts = part_sizes(root)
    files = [path for path in snapshot.path.rglob("*") if path.is_file()]
    files.remove(snapshot.path / "manifest.json")
    assert sum(part.bytes for part in parts) == sum(path.stat().st_size for path in files)
    names = {part.part for part in parts}
    assert {
        "papers: inverted lists",
        "papers: documents",
        "contexts: vocabulary",
        "corpus: contexts",
    } <= names
    assert {"names: authors", "names: surnames", "names: venues"} <= names
    assert {"vectors: hash, exact", "history"} <= names
    assert [part.bytes for part in parts] == sorted((part.bytes for part in parts), reverse=True)
    assert parts[0].per_paper == parts[0].bytes / 80
    assert {part.part for part in parts if part.loaded} == LOADED


def test_parts_are_added_up_over_shards(corpus: Corpus, root: Path, encoder: HashEncoder) -> None:
    index = ShardedIndex.create(corpus, root, shards=3, encoders=[encoder])
    parts = part_sizes(root)
    files = [
        path for path in index.path.rglob("*") if path.is_file() and path != index.path / "manifest.json"
    ]
    assert sum(part.bytes for part in parts) == sum(path.stat().st_size for path in files)
    assert len({(part.part, part.loaded) for part in parts}) == len(parts)
    [documents] = [part for part in parts if part.part == "papers: documents"]
    folders = index.path.glob("shards/*/papers/*")
    of_shards = [
        path for folder in folders for path in folder.iterdir() if path.name[:6] in ("counts", "length")
    ]
    assert documents.bytes > sum(path.stat().st_size for path in of_shards) > 0.8 * documents.bytes
    assert {part.part for part in parts if part.loaded} == LOADED


def test_without_an_index_there_are_none(root: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no index"):
        part_sizes(root)

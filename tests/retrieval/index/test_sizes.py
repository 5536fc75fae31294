"""Sizes of an index: the parts are all its files, each in one part."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.topic_corpus import HashEncoder

from cocite.corpus.store import Corpus
from cocite.errors import NotFoundError
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.sizes import part_sizes
from cocite.retrieval.index.snapshot import IndexSnapshot


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
    assert {"vectors: hash, searched", "vectors: hash, exact", "history"} <= names
    assert [part.bytes for part in parts] == sorted((part.bytes for part in parts), reverse=True)
    assert parts[0].per_paper == parts[0].bytes / 80
    assert {part.part for part in parts if part.loaded} == {
        *("papers: vocabulary", "contexts: vocabulary", "vectors: hash, searched", "history")
    }


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
    assert {part.part for part in parts if part.loaded} == {
        *("papers: vocabulary", "contexts: vocabulary", "vectors: hash, searched", "history")
    }


def test_without_an_index_there_are_none(root: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no index"):
        part_sizes(root)

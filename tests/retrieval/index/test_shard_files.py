"""A shard that is missing, damaged, or of another version is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.sharded_index import ShardedIndex


@pytest.fixture
def root(corpus: Corpus, tmp_path: Path) -> Path:
    ShardedIndex.create(corpus, tmp_path / "index", shards=3).close()
    return tmp_path / "index"


def shard(root: Path, version: str, number: int) -> Path:
    return root / "versions" / version / "shards" / f"{number:04d}"


def test_a_missing_shard_is_named(root: Path) -> None:
    shutil.rmtree(shard(root, "000001", 1))
    with pytest.raises(IntegrityError, match="shard 2 of 3 is missing"):
        open_index(root)


def test_a_shard_of_another_version_is_named(corpus: Corpus, root: Path) -> None:
    ShardedIndex.create(corpus, root, shards=3, known_until=2005).close()
    shutil.rmtree(shard(root, "000002", 2))
    shutil.copytree(shard(root, "000001", 2), shard(root, "000002", 2))
    with pytest.raises(IntegrityError, match="shard 3 of 3 belongs to another version"):
        open_index(root)


def test_a_damaged_file_of_a_shard_is_named(root: Path) -> None:
    path = shard(root, "000001", 0) / "papers" / "text" / "lists.rows.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match=r"shards/0000/papers/text/lists\.rows\.npy.*SHA-256"):
        open_index(root)


def test_shards_elsewhere_are_not_read_by_who_coordinates(root: Path) -> None:
    whole = ShardedIndex.open(root)
    path = shard(root, "000001", 0) / "papers" / "text" / "lists.rows.npy"
    path.write_bytes(b"damaged")
    other = ShardedIndex.open(root, shards=whole.shards)
    assert other.shards is whole.shards
    words = root / "versions" / "000001" / "words" / "papers" / "vocabulary.txt"
    words.write_bytes(words.read_bytes().swapcase())
    with pytest.raises(IntegrityError, match=r"vocabulary\.txt.*SHA-256"):
        ShardedIndex.open(root, shards=whole.shards)

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder

from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.retrieval.index.shard_layout import shard_folder
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.single_shard import SingleShard, describe_shards, first_rows

VERSION = "000001"


@pytest.fixture
def index(corpus: Corpus, root: Path) -> ShardedIndex:
    return ShardedIndex.create(corpus, root, shards=3, encoders=[HashEncoder()])


def test_a_shard_opened_alone_is_that_of_the_index(index: ShardedIndex, root: Path) -> None:
    starts = first_rows(describe_shards(root, VERSION))
    for number, local in enumerate(index.local_shards):
        alone = SingleShard(root, VERSION, number)
        assert (alone.shard.first, starts[number]) == (local.first, local.first)
        rows = np.arange(local.first, local.first + len(local))
        np.testing.assert_array_equal(alone.paper_vectors("hash", rows), local.paper_vectors("hash", rows))


def test_a_probe_searches_words_and_vectors(
    index: ShardedIndex, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = SingleShard(root, VERSION, 2)
    alone.probe()
    broken = np.full((1, alone.shard.vectors["hash"].dimension), np.nan, np.float32)
    monkeypatch.setattr(type(alone.shard), "paper_vectors", lambda *_: broken)
    with pytest.raises(IntegrityError, match="the shard finds no paper by hash"):
        alone.probe()


def test_damage_to_another_shard_does_not_matter_and_to_its_own_is_refused(
    index: ShardedIndex, root: Path
) -> None:
    damaged = shard_folder(index.path, 1) / "years.npy"
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    SingleShard(root, VERSION, 0)
    with pytest.raises(IntegrityError, match=r"0001/years.npy: damaged"):
        SingleShard(root, VERSION, 1)


def test_a_shard_of_another_version_or_a_missing_one_is_refused(index: ShardedIndex, root: Path) -> None:
    folder = shard_folder(index.path, 2)
    shutil.rmtree(folder)
    with pytest.raises(IntegrityError, match="shard 3 of 3 is missing"):
        SingleShard(root, VERSION, 2)
    shutil.copytree(shard_folder(index.path, 1), folder)
    with pytest.raises(IntegrityError, match="shard 3 of 3 belongs to another version"):
        SingleShard(root, VERSION, 2)


def test_an_index_that_is_searched_whole_has_no_shards(corpus: Corpus, root: Path) -> None:
    IndexSnapshot.create(corpus, root)
    with pytest.raises(InputError, match="not divided into shards"):
        SingleShard(root, VERSION, 0)
    with pytest.raises(NotFoundError, match="000007"):
        SingleShard(root, "000007", 0)


def test_its_version_stays_while_it_is_open(index: ShardedIndex, corpus: Corpus, root: Path) -> None:
    index.close()
    alone = SingleShard(root, VERSION, 0)
    for _ in range(2):
        ShardedIndex.create(corpus, root, shards=1, keep=1)
    assert index.path.is_dir()
    assert len(alone.shard)

"""An index folder is opened as its current version is: whole or in shards."""

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot


def test_each_version_is_opened_as_what_it_is(corpus: Corpus, tmp_path: Path) -> None:
    IndexSnapshot.create(corpus, tmp_path)
    assert isinstance(open_index(tmp_path), IndexSnapshot)
    ShardedIndex.create(corpus, tmp_path, shards=2)
    assert isinstance(open_index(tmp_path), ShardedIndex)
    assert isinstance(open_index(tmp_path, "000001"), IndexSnapshot)
    with pytest.raises(InputError, match="2 shards, and this needs one that is searched whole"):
        IndexSnapshot.open(tmp_path)


def test_a_folder_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no index"):
        open_index(tmp_path)

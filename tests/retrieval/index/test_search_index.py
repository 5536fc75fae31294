"""Both kinds of index have what the pipeline asks of one."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.index.sharded_index import ShardedIndex


@pytest.mark.parametrize("sharded", [False, True])
def test_every_member_of_the_protocol_is_there(corpus: Corpus, tmp_path: Path, sharded: bool) -> None:
    index: SearchIndex = (
        ShardedIndex.create(corpus, tmp_path, shards=2)
        if sharded
        else Index.build(corpus, History.all(corpus))
    )
    members = [name for name, _ in inspect.getmembers(SearchIndex) if not name.startswith("_")]
    assert {"corpus", "shards", "rewind", "paper_words"} <= set(members)
    for name in members:
        assert hasattr(index, name), name
    assert len(index) == len(corpus)
    assert index.bm25.changed() == {}
    assert index.context_words(["parsing"]).times.sum() == 1

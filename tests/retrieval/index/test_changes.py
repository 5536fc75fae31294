"""Changes of an index folder keep to the kind of its current version."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.topic_corpus import HashEncoder, make_records

from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.retrieval.index.changes import add_papers, reembed_papers, remove_papers
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot


def test_the_kind_of_the_current_version_stays(corpus: Corpus, root: Path) -> None:
    IndexSnapshot.create(corpus, root)
    assert isinstance(add_papers(root, make_records(2, start=80)), IndexSnapshot)
    assert isinstance(remove_papers(root, ["p3"]), IndexSnapshot)
    ShardedIndex.create(corpus, root, shards=2)
    assert isinstance(add_papers(root, make_records(2, start=80)), ShardedIndex)
    assert isinstance(remove_papers(root, ["p3"]), ShardedIndex)


def test_vectors_of_the_same_encoders_are_not_made_again(corpus: Corpus, root: Path) -> None:
    encoder = HashEncoder()
    IndexSnapshot.create(corpus, root, encoders=[encoder])
    assert reembed_papers(root, [encoder]) is None
    new = reembed_papers(root, [HashEncoder("hash-2")])
    assert new is not None
    assert (new.version, new.encoder_ids) == ("000002", {"hash": "hash-2"})


def test_an_index_in_shards_is_built_again_instead(corpus: Corpus, root: Path) -> None:
    ShardedIndex.create(corpus, root, shards=2)
    with pytest.raises(InputError, match="divided into 2 shards.*cocite embed"):
        reembed_papers(root, [HashEncoder()])


def test_without_an_index_nothing_is_made(root: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no index"):
        remove_papers(root, ["p3"])
    assert not root.exists()

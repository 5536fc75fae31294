from __future__ import annotations

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, make_records

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite_jobs.retrieval.matching_index import require_same


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(make_records(40), tmp_path_factory.mktemp("corpus") / "store")


@pytest.fixture(scope="module")
def index(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> ShardedIndex:
    root = tmp_path_factory.mktemp("index") / "index"
    return ShardedIndex.create(corpus, root, shards=2, encoders=[HashEncoder()], known_until=2003)


def test_the_same_corpus_history_and_encoders_are_taken(corpus: Corpus, index: ShardedIndex) -> None:
    require_same(index, corpus, History.until(corpus, 2003), [HashEncoder()])


def test_what_is_not_the_same_is_named(corpus: Corpus, index: ShardedIndex, tmp_path_factory) -> None:
    history = History.until(corpus, 2003)
    with pytest.raises(InputError, match=r"knows other links .*--before-split"):
        require_same(index, corpus, History.all(corpus), [])
    with pytest.raises(InputError, match="no vectors of other"):
        require_same(index, corpus, history, [HashEncoder(name="other")])
    with pytest.raises(InputError, match="were made by encoder hash-1, not hash-2"):
        require_same(index, corpus, history, [HashEncoder("hash-2")])
    other = build(make_records(41), tmp_path_factory.mktemp("other") / "store")
    with pytest.raises(InputError, match=f"is of corpus {corpus.version}, not of {other.version}"):
        require_same(index, other, History.all(other), [])
    index.alive[0] = False
    try:
        with pytest.raises(InputError, match="lacks papers that were removed"):
            require_same(index, corpus, history, [])
    finally:
        index.alive[0] = True


def test_the_mask_is_what_the_index_was_built_with(corpus: Corpus, index: ShardedIndex) -> None:
    np.testing.assert_array_equal(index.history.citing, History.until(corpus, 2003).citing)

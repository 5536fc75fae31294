"""A group asks every shard, and reads vectors from the one that holds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.corpus.store import Corpus
from cocite.pipeline.pooled_signals import PooledSignals
from cocite.pipeline.signals import Signals
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.shards.group import LocalShards
from cocite.retrieval.shards.messages import NearestReply, NearestRequest, ScoreReply, ScoreRequest


@pytest.fixture(scope="module")
def sharded(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> ShardedIndex:
    root = tmp_path_factory.mktemp("shards")
    return ShardedIndex.create(corpus, root, shards=4, encoders=[HashEncoder()])


def test_vectors_come_from_their_shards(corpus: Corpus, sharded: ShardedIndex) -> None:
    rows = np.array([[79, 0], [41, 20]])
    vectors = sharded.shards.paper_vectors("hash", rows)
    expected = HashEncoder().encode_papers(corpus, rows.ravel()).reshape(2, 2, -1)
    np.testing.assert_array_equal(vectors, expected)


class WithoutTheThird(LocalShards):
    """Shards of which one does not answer."""

    def nearest(self, request: NearestRequest) -> Sequence[NearestReply | None]:
        return [reply if i != 2 else None for i, reply in enumerate(super().nearest(request))]

    def score(self, request: ScoreRequest) -> Sequence[ScoreReply | None]:
        return [reply if i != 2 else None for i, reply in enumerate(super().score(request))]


def test_a_shard_without_an_answer_is_named_and_its_papers_are_not_found(
    corpus: Corpus, sharded: ShardedIndex
) -> None:
    signals = Signals(sharded)
    signals.index = type("View", (), {"__getattr__": lambda _, name: getattr(sharded, name)})()
    signals.index.shards = WithoutTheThird(sharded.local_shards)
    type(signals.index).__len__ = lambda _: len(sharded)
    block = PooledSignals(signals, queries_of(corpus, [150]))
    rows = block.ranking({"whole>text": 1.0}, 80).rows[0]
    assert block.missing == {2}
    third = sharded.local_shards[2]
    assert not ((rows >= third.first) & (rows < third.first + len(third))).any()
    assert (rows >= 0).any()

"""A plan refuses what does not fit the corpus before anything is written."""

from __future__ import annotations

import pytest
from helpers.topic_corpus import HashEncoder

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.sharded_plan import ShardedPlan


def test_the_manifest_is_told_what_was_planned(corpus: Corpus) -> None:
    plan = ShardedPlan.of(
        corpus,
        shards=4,
        known_until=2004,
        encoders=[HashEncoder()],
        bm25=Bm25Fields.parse({}, overrides=["text.k1=2"]),
    )
    assert plan.meta == {
        "known_until": 2004,
        "before_split": None,
        "encoder_ids": {"hash": "hash-1"},
        "bm25": {"text.k1": 2.0},
    }
    assert sum(part.contexts for part in plan.ranges) == len(plan.collection.history.contexts)


def test_mistakes_are_refused(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="81 shards are more than the 80 papers"):
        ShardedPlan.of(corpus, shards=81)
    with pytest.raises(InputError, match="unknown kind of vector index 'hnws'"):
        ShardedPlan.of(corpus, shards=2, vector_kind="hnws")
    with pytest.raises(InputError, match="both say what is known"):
        ShardedPlan.of(corpus, shards=2, known_until=2000, before_split="test")

"""Requests and replies are values that another process can be sent."""

from __future__ import annotations

import copy

import numpy as np
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.pipeline.first_stage import FirstStage
from cocite.retrieval.index.index import Index
from cocite.retrieval.shards.group import LocalShards
from cocite.retrieval.shards.messages import TextField


class CopiedMessages(LocalShards):
    """Shards whose requests and replies are copied as between two processes."""

    def nearest(self, request):
        return copy.deepcopy(super().nearest(copy.deepcopy(request)))

    def score(self, request):
        return copy.deepcopy(super().score(copy.deepcopy(request)))


def test_a_search_by_copied_messages_is_the_same(corpus: Corpus) -> None:
    index = Index.build(corpus, History.all(corpus), encoders=[HashEncoder()])
    queries = queries_of(corpus, range(20, 26))
    weights = {"local": {"hash": 1.0, "whole>text": 1.0, "near>anchors": 1.0}, "global": {}}
    first = FirstStage(index, [HashEncoder()], weights=weights, dense=False)
    expected = first.retrieve(queries)
    index.__dict__["shards"] = CopiedMessages(index.shards.shards)
    found = first.retrieve(queries)
    np.testing.assert_array_equal(found.ranking.rows, expected.ranking.rows)
    for name, values in expected.signals.items():
        np.testing.assert_array_equal(found.signals[name], values)


def test_fields_are_of_papers_or_of_what_contexts_say() -> None:
    names = ("text", "title", "anchors", "near anchors")
    assert [TextField(0, name).of_papers for name in names] == [True, True, False, False]

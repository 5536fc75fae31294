"""The parts of an index: an index is its parts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.parts import IndexParts
from cocite.retrieval.index.plan import BuildPlan


def test_an_index_has_the_parts_and_a_version_alone(corpus: Corpus) -> None:
    parts = BuildPlan.new(corpus, History.all(corpus)).make()
    names = [field.name for field in dataclasses.fields(parts)]
    assert [field.name for field in dataclasses.fields(Index)] == [*names, "version"]
    index = Index(**vars(parts))
    assert all(getattr(index, name) is getattr(parts, name) for name in names)


def test_parts_of_different_indexes_share_no_default(corpus: Corpus) -> None:
    alive = np.ones(len(corpus), bool)
    one, other = (IndexParts(corpus, History.all(corpus), alive, {}, Bm25Index.build([])) for _ in range(2))
    assert one.vectors is not other.vectors
    assert (len(one.anchors.whole), dict(one.encoder_ids)) == (0, {})
    with pytest.raises(dataclasses.FrozenInstanceError, match="alive"):
        one.alive = alive

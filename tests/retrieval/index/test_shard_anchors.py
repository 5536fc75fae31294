"""Anchor texts are added up over the contexts of all shards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.part_files import LocalFiles
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.shard_anchors import add_anchors, cite_words, said_name
from cocite.retrieval.index.shard_words import (
    count_words,
    load_fields,
    merge_words,
    number_words,
    words_of_all,
)
from cocite.retrieval.index.sharded_plan import ShardedPlan


@pytest.mark.parametrize("until", [None, 2004, 1900])
def test_they_are_those_of_the_whole(corpus: Corpus, until: int | None, tmp_path: Path) -> None:
    plan = ShardedPlan.of(corpus, shards=3, known_until=until)
    files = LocalFiles(tmp_path)
    inputs = plan.inputs(files)
    for number in range(3):
        number_words(inputs, "contexts", number)
    merge_words(inputs, "contexts")
    for number in range(3):
        count_words(inputs, "contexts", number)
        cite_words(inputs, number)
    for number in range(3):
        add_anchors(inputs, number)
    words = words_of_all(inputs, "contexts", 0)
    history = History.all(corpus) if until is None else History.until(corpus, until)
    expected = Index.build(corpus, history).anchors
    for name, field in (("whole", "outer"), ("near", "inner")):
        parts = [
            getattr(load_fields(inputs, "anchors", n, words), field).matrix().toarray()
            for n in range(len(plan.ranges))
        ]
        np.testing.assert_array_equal(
            np.concatenate(parts), getattr(expected, name).counts.matrix().toarray()
        )
    crossing = [np.load(files.read(said_name(2, other)) / "papers.npy").size for other in range(3)]
    assert all(crossing) == (until is None), "contexts of the last shard cite papers of each other one"

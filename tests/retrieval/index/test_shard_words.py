"""Words of shards have the numbers, counts and statistics that they have where all texts are read at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.part_files import LocalFiles
from cocite.retrieval.engines.bm25_files import load_indexes, load_vocabulary
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.shard_words import (
    FIELDS,
    count_words,
    merge_words,
    number_words,
    total_words,
    weigh_words,
    words_of_all,
)
from cocite.retrieval.index.sharded_plan import ShardedPlan


@pytest.mark.parametrize("splitters", [0, 2])
@pytest.mark.parametrize("shards", [2, 7])
@pytest.mark.parametrize("group", ["papers", "contexts"])
def test_shards_are_numbered_counted_and_weighed_as_the_whole(
    corpus: Corpus, group: str, shards: int, splitters: int, tmp_path: Path
) -> None:
    told: list[int] = []
    plan = ShardedPlan.of(corpus, shards=shards)
    files = LocalFiles(tmp_path)
    inputs = plan.inputs(files, told.append, splitters=splitters)
    for number in reversed(range(shards)):  # in any order
        number_words(inputs, group, number)
    assert sum(told) == (2 * len(corpus) if group == "papers" else len(corpus.contexts))
    merge_words(inputs, group)
    for number in range(shards):
        count_words(inputs, group, number)
    total_words(inputs, group)
    whole = Index.build(corpus, History.all(corpus))
    expected = {**whole.papers, "contexts": whole.contexts, "windows": whole.anchors.windows}
    columns = words_of_all(inputs, group, 0)
    assert load_vocabulary(files.read(f"vocabularies/{group}")) == expected[FIELDS[group][0]].vocabulary
    for number in range(shards):
        weigh_words(inputs, group, number)
    for name in FIELDS[group]:
        parts, lists = [], []
        for number, part in enumerate(plan.ranges):
            index = load_indexes(files.read(f"weighed/{group}/{number:04d}"), [name])[name]
            documents = part.papers if group == "papers" else part.contexts
            assert index.counts.shape == (documents, columns)
            parts.append(index.counts.matrix().toarray())
            np.testing.assert_array_equal(index.idf, expected[name].idf)
            assert index.mean_length == expected[name].mean_length
            lists.append(
                index.scores_at(expected[name].query_words(["parsing of trees"]), np.arange(documents))
            )
        np.testing.assert_array_equal(np.concatenate(parts), expected[name].counts.matrix().toarray())
        rows = np.arange(len(expected[name]))
        scores = expected[name].scores_at(expected[name].query_words(["parsing of trees"]), rows)
        np.testing.assert_array_equal(np.concatenate(lists, axis=1), scores)
    public = files.read(f"final/words-{group}") / "words" / group
    assert sorted(path.name for path in public.iterdir()) == sorted(
        ["vocabulary.txt", *(("text", "title") if group == "papers" else ("contexts",))]
    )

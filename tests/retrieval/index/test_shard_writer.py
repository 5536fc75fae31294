"""Shards on disk: one vocabulary, one shard's statistics nowhere, a manifest for each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from helpers.topic_corpus import HashEncoder

from cocite.artifacts import verify
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.engines.bm25_files import load_group, load_indexes
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.shard_layout import SHARD_KIND, shard_folder
from cocite.retrieval.index.shard_writer import write_shards
from cocite.retrieval.index.sharded_plan import ShardedPlan


def test_the_files_hold_the_whole_index_divided(corpus: Corpus, tmp_path: Path) -> None:
    counted: list[int] = []
    plan = ShardedPlan.of(corpus, shards=3, encoders=[HashEncoder()])
    described = write_shards(plan, tmp_path, advance=counted.append)
    assert not (tmp_path / ".parts").exists()
    assert sum(counted) == 3 * len(corpus) + len(corpus.contexts)
    assert described["vectors"] == {"hash": "flat"}
    whole = Index.build(corpus, History.all(corpus))
    for group, names in (
        ("papers", ("text", "title")),
        ("contexts", ("contexts", "windows", "whole", "near")),
    ):
        for name in names:
            expected = {
                "text": whole.papers["text"],
                "title": whole.papers["title"],
                "contexts": whole.contexts,
                "windows": whole.anchors.windows,
                "whole": whole.anchors.whole,
                "near": whole.anchors.near,
            }[name]
            parts = [load_indexes(shard_folder(tmp_path, n) / group, [name])[name] for n in range(3)]
            counts = np.concatenate([part.counts.matrix().toarray() for part in parts])
            np.testing.assert_array_equal(counts, expected.counts.matrix().toarray(), err_msg=name)
            for part in parts:
                np.testing.assert_array_equal(part.idf, expected.idf)
                assert part.mean_length == expected.mean_length
    words = load_group(tmp_path / "words" / "papers", ("text", "title"))
    assert words["text"].vocabulary == whole.papers["text"].vocabulary
    for number, shard in enumerate(described["shards"]):
        manifest = verify(shard_folder(tmp_path, number), kind=SHARD_KIND)
        assert manifest.digest == shard["digest"]

"""Shards on disk: one vocabulary, one shard's statistics nowhere, a manifest for each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from helpers.topic_corpus import HashEncoder

from cocite.artifacts import verify
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.engines.bm25_files import load_group, load_index
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.shard_ranges import divide
from cocite.retrieval.index.shard_writer import SHARD_KIND, ShardWriter, shard_folder


def test_the_files_hold_the_whole_index_divided(corpus: Corpus, tmp_path: Path) -> None:
    collection = Collection(corpus, History.all(corpus), np.ones(len(corpus), bool))
    counted: list[int] = []
    ranges = divide(collection, 3)
    writer = ShardWriter(collection, ranges, tmp_path, [HashEncoder()], advance=counted.append)
    described = writer.write()
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
            parts = [load_index(shard_folder(tmp_path, n) / group / name) for n in range(3)]
            counts = np.concatenate([part.counts.toarray() for part in parts])
            np.testing.assert_array_equal(counts, expected.counts.toarray(), err_msg=name)
            for part in parts:
                np.testing.assert_array_equal(part.idf, expected.idf)
                assert part.mean_length == expected.mean_length
    words = load_group(tmp_path / "words" / "papers", ("text", "title"))
    assert words["text"].vocabulary == whole.papers["text"].vocabulary
    for number, shard in enumerate(described["shards"]):
        manifest = verify(shard_folder(tmp_path, number), kind=SHARD_KIND)
        assert manifest.digest == shard["digest"]

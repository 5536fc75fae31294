"""One shard of a new version: an empty change links every file, another one writes its own alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from helpers.topic_corpus import HashEncoder

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.retrieval.index.shard_changes import ShardChange, ShardRewriter, empty_like
from cocite.retrieval.index.shard_layout import shard_folder
from cocite.retrieval.index.sharded_index import ShardedIndex


def test_what_does_not_change_is_linked(
    corpus: Corpus, root: Path, tmp_path: Path, encoder: HashEncoder
) -> None:
    index = ShardedIndex.create(corpus, root, shards=2, encoders=[encoder])
    shard, source = index.local_shards[1], shard_folder(index.path, 1)
    same = ShardRewriter(shard, source, tmp_path / "same", encoder_ids=index.encoder_ids)
    assert same.write(ShardChange()) == index.manifest.meta["shards"][1]
    alive, kept = np.ones(40, bool), np.ones(len(shard.contexts), bool)
    alive[3] = kept[:2] = False
    fewer = ShardRewriter(shard, source, tmp_path / "fewer", encoder_ids=index.encoder_ids)
    described = fewer.write(ShardChange(kept=kept, alive=alive))
    assert described["contexts"] == len(shard.contexts) - 2
    verify(tmp_path / "fewer")
    files = [path.relative_to(source) for path in source.rglob("*") if path.is_file()]
    written = {str(file) for file in files if not (tmp_path / "fewer" / file).samefile(source / file)}
    assert "alive.npy" in written
    assert {file.split("/")[1] for file in written if "/" in file} == {"contexts", "windows"}


def test_an_empty_shard_weighs_words_as_the_other(corpus: Corpus, root: Path) -> None:
    shard = ShardedIndex.create(corpus, root, shards=2).local_shards[1]
    empty = empty_like(shard, 80, 300)
    assert (len(empty), empty.first, empty.first_context) == (0, 80, 300)
    for name, index in empty.fields.items():
        assert len(index) == 0
        np.testing.assert_array_equal(index.idf, shard.fields[name].idf)

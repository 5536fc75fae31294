"""Shards under a shorter history: exact statistics of the contexts that remain."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.rewound_shards import RewoundShards
from cocite.retrieval.index.sharded_index import ShardedIndex


def test_the_statistics_are_those_of_the_remaining_contexts(corpus: Corpus, root: Path) -> None:
    index = ShardedIndex.create(corpus, root, shards=3)
    early = Index.build(corpus, History.until(corpus, 2005))
    kept = early.history.citing[index.context_papers]
    words = index.words["contexts"]
    group = RewoundShards(index.local_shards, words, early.cited_by_context, kept).group()
    texts = ["parsing grammar", "translation phrase"]
    for name in ("whole", "near"):
        ours = np.concatenate(
            [_scores(getattr(shard.anchors, name), words, texts) for shard in group.shards], 1
        )
        np.testing.assert_allclose(ours, getattr(early.anchors, name).scores(texts), rtol=1e-6)
    ours = np.concatenate([_scores(shard.contexts, words, texts) for shard in group.shards], 1)
    np.testing.assert_allclose(ours, early.contexts.scores(texts), rtol=1e-6)


def test_the_counts_of_all_shards_are_in_files(corpus: Corpus, root: Path) -> None:
    index = ShardedIndex.create(corpus, root, shards=2)
    kept = np.ones(len(index.context_papers), bool)
    group = RewoundShards(index.local_shards, index.words["contexts"], index.cited_by_context, kept).group()
    for shard in group.shards:
        for part in (shard.contexts, shard.anchors.windows, shard.anchors.whole, shard.anchors.near):
            entries = part.counts.packed.entries
            assert len(entries)
            while not isinstance(entries, np.memmap):
                assert isinstance(entries.base, np.ndarray), "an array in memory"
                entries = entries.base


def _scores(index, words, texts):
    return index.scores_at(words.query_words(texts), np.arange(len(index)))

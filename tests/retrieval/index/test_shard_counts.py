"""Word counts of shards are weighed by the statistics of all, and anchor texts gather contexts of all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cocite.corpus.csr import CSR
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.packed_counts import FieldCounts
from cocite.retrieval.engines.word_statistics import WordStatistics
from cocite.retrieval.index import shard_counts
from cocite.retrieval.index.shard_counts import SharedVocabulary, anchor_counts

TEXTS = ["chart parsing", "neural parsing of charts", "neural translation", "chart translation parsing"]


def test_shards_score_as_the_whole() -> None:
    whole, vocabulary, parts = Bm25Index.build(TEXTS), SharedVocabulary(), []
    for texts in (TEXTS[:1], TEXTS[1:]):
        numbers = vocabulary.tokenizer.learn(texts, vocabulary.words)
        parts.append(matrices.counted(*numbers, columns=len(vocabulary.words)))
        vocabulary.add({"text": WordStatistics.of(parts[-1])})
    assert vocabulary.words == whole.vocabulary
    asked = whole.query_words(["parsing charts", "translation"])
    indexes = [vocabulary.index("text", FieldCounts.of(part)) for part in parts]
    found = [index.scores_at(asked, np.arange(len(index))) for index in indexes]
    np.testing.assert_array_equal(np.concatenate(found, axis=1), whole.scores_at(asked, np.arange(4)))
    empty = vocabulary.without_documents("text")
    np.testing.assert_array_equal(empty.idf, whole.idf)
    assert empty.mean_length == whole.mean_length
    assert len(empty) == 0


@pytest.mark.parametrize("block", [1, 2, 100])
def test_anchor_texts_hold_the_words_of_contexts_of_every_shard(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_counts, "BLOCK", block)
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (7, 4)).astype(np.int32)
    cited = CSR.build(*np.nonzero(rng.random((7, 5)) < 0.4), 7)
    # A shard knows fewer words.
    documents = [FieldCounts.of(sp.csr_matrix(part)) for part in (counts[:3, :3], counts[3:])]
    counts[:3, 3] = 0
    owners = [cited.part(0, 3), cited.part(3, 7)]
    parts = [list(anchor_counts(documents, owners, first, last, 4)) for first, last in ((0, 2), (2, 5))]
    found = [papers.toarray() for part in parts for papers in part]
    assert len(found) == {1: 5, 2: 3, 100: 2}[block]
    owner, paper = cited.pairs()
    expected = np.zeros((5, 4), np.int32)
    np.add.at(expected, paper, counts[owner])
    np.testing.assert_array_equal(np.concatenate(found), expected)

"""Word counts of shards are weighed by the statistics of all, and anchor texts gather contexts of all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cocite.corpus.csr import CSR
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.index import shard_counts
from cocite.retrieval.index.shard_counts import SharedVocabulary, anchor_counts

TEXTS = ["chart parsing", "neural parsing of charts", "neural translation", "chart translation parsing"]


def test_shards_score_as_the_whole() -> None:
    whole, vocabulary, parts = Bm25Index.build(TEXTS), SharedVocabulary(), []
    for texts in (TEXTS[:1], TEXTS[1:]):
        numbers = vocabulary.tokenizer.learn(texts, vocabulary.words)
        parts.append(matrices.counted(*numbers, columns=len(vocabulary.words)))
        vocabulary.add({"text": parts[-1]})
    assert vocabulary.words == whole.vocabulary
    asked = whole.query_words(["parsing charts", "translation"])
    found = [vocabulary.index("text", part).scores_at(asked, np.arange(part.shape[0])) for part in parts]
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
    documents = [sp.csr_matrix(counts[:3, :3]), sp.csr_matrix(counts[3:])]  # a shard knows fewer words
    counts[:3, 3] = 0
    owners = [cited.part(0, 3), cited.part(3, 7)]
    found = [anchor_counts(documents, owners, first, last, 4).toarray() for first, last in ((0, 2), (2, 5))]
    owner, paper = cited.pairs()
    expected = np.zeros((5, 4), np.int32)
    np.add.at(expected, paper, counts[owner])
    np.testing.assert_array_equal(np.concatenate(found), expected)

"""BM25's weights: Lucene's formula written out in float64, and the bm25s library's matrix."""

from __future__ import annotations

import math

import bm25s
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cocite.retrieval.engines import packed_counts
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_weights import TermWeighting, lucene_idf

WORDS = ["parsing", "treebank", "graph", "neural", "the", "of", "émile", "x1", "model", "a", "naïve"]
text = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
texts = st.lists(text, min_size=1, max_size=12)


def lucene(
    times: int, length: int, mean_length: float, holding: int, documents: int, k1: float, b: float
) -> float:
    """The weight of one word in one document, written out."""
    idf = math.log(1 + (documents - holding + 0.5) / (holding + 0.5))
    return idf * times / (times + k1 * (1 - b + b * length / mean_length))


@given(texts, st.sampled_from([(1.2, 0.75), (0.9, 0.4), (0.0, 1.0)]))
def test_weights_are_those_of_lucenes_formula(documents: list[str], settings: tuple[float, float]) -> None:
    k1, b = settings
    index = Bm25Index.build(documents, k1=k1, b=b)
    counts = index.counts.matrix().toarray()
    holding, lengths = (counts > 0).sum(axis=0), counts.sum(axis=1)
    weighting = TermWeighting(lucene_idf(holding, len(documents)), lengths.mean() or 1.0, k1, b)
    expected = [
        [lucene(times, lengths[i], lengths.mean(), holding[word], len(documents), k1, b) if times else 0.0
         for word, times in enumerate(row.tolist())]
        for i, row in enumerate(counts)
    ]  # fmt: skip
    np.testing.assert_allclose(weighting.weigh(index.counts).toarray().tolist(), expected, rtol=1e-6)
    one_of_each = list(index.vocabulary)
    np.testing.assert_allclose(index.scores(one_of_each).T.reshape(len(documents), -1), expected, rtol=1e-5)


def test_documents_are_weighed_alike_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Bm25Index.build(["graph model", "", "neural model model", "parsing"])
    weighting = TermWeighting(index.idf, index.mean_length, index.k1, index.b)
    whole = weighting.weigh(index.counts)
    monkeypatch.setattr(packed_counts, "BLOCK", 2)
    np.testing.assert_array_equal(weighting.weigh(index.counts).toarray(), whole.toarray())


def test_idf_is_never_negative_and_falls_with_the_number_of_documents() -> None:
    idf = lucene_idf(np.arange(1, 101), 100)
    assert (idf > 0).all()
    assert (np.diff(idf) < 0).all()


@given(texts, st.sampled_from([(1.2, 0.75), (0.9, 0.4), (0.0, 1.0)]), st.data())
def test_the_weights_are_the_librarys(
    documents: list[str], settings: tuple[float, float], data: st.DataObject
) -> None:
    k1, b = settings
    index = Bm25Index.build(documents, k1=k1, b=b)
    chosen = data.draw(st.lists(st.integers(0, len(documents) - 1), unique=True).map(sorted))
    for part in (index, index.select(np.array(chosen, np.int64))):
        words = [np.repeat(row.indices, row.data).tolist() for row in part.counts.matrix()]
        if not any(words):
            assert not len(part.lists.rows)
            continue
        engine = bm25s.BM25(method="lucene", k1=k1, b=b)
        engine.index((words, dict(index.vocabulary)), show_progress=False, create_empty_token=False)
        library = sp.csr_matrix(
            tuple(engine.scores[name] for name in ("data", "indices", "indptr")),
            shape=(len(index.vocabulary), len(part)),
        )
        lists = part.lists
        own = sp.csr_matrix((lists.weights, lists.rows, lists.indptr), shape=library.shape)
        np.testing.assert_allclose(own.toarray(), library.toarray(), rtol=1e-6)

"""The vector retriever: against products of all vectors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.protocols import NO_ROW, Query
from cocite.retrieval import vector_retriever as dense
from cocite.retrieval.index.index import Index
from cocite.retrieval.vector_retriever import VectorRetriever


@pytest.fixture(scope="module")
def index(corpus: Corpus) -> Index:
    return Index.build(corpus, History.all(corpus), encoders=[HashEncoder()])


def test_the_nearest_papers_are_those_of_the_greatest_products(corpus: Corpus, index: Index) -> None:
    encoder = HashEncoder()
    retriever = VectorRetriever(index, encoder)
    queries = queries_of(corpus, range(100, 110))
    scores = encoder.encode_queries(queries) @ index.vectors["hash"].raw.T
    scores[np.arange(10), [query.paper for query in queries]] = -np.inf
    ranking = retriever.search(queries, 12)
    np.testing.assert_allclose(ranking.scores, -np.sort(-scores, axis=1)[:, :12], rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(scores, ranking.rows, 1), ranking.scores, rtol=1e-5)


class BrokenEncoder(HashEncoder):
    """Returns no numbers for queries."""

    def encode_queries(self, queries):
        return np.full((len(queries), self.dimension), np.nan, np.float32)


def test_vectors_that_are_not_finite_are_refused(corpus: Corpus, index: Index) -> None:
    with pytest.raises(IntegrityError, match="vectors of queries are not finite"):
        VectorRetriever(index, BrokenEncoder()).search(queries_of(corpus, [100]), 5)


class TwoFormEncoder(HashEncoder):
    """Reads a gap by its context alone, and the manuscript apart."""

    def encode_queries(self, queries):
        return self._encode([q.context or f"{q.title} {q.abstract}" for q in queries])

    def encode_manuscripts(self, queries):
        self.encoded += len(queries)
        return self._encode([f"{q.title} {q.abstract}" for q in queries])


def test_a_gap_has_a_vector_for_each_form(corpus: Corpus) -> None:
    encoder = TwoFormEncoder()
    retriever = VectorRetriever(Index.build(corpus, History.all(corpus), encoders=[encoder]), encoder)
    encoder.encoded = 0
    known = queries_of(corpus, range(6))
    vectors = retriever.encode(known)
    assert list(vectors) == ["hash", "hash:manuscript"]
    assert encoder.encoded == 0, "a manuscript in the corpus has its vector in the index"
    np.testing.assert_array_equal(
        vectors["hash:manuscript"], retriever.vectors.vectors([query.paper for query in known])
    )
    unknown = [dataclasses.replace(query, paper=NO_ROW) for query in known]
    np.testing.assert_allclose(
        retriever.encode([*unknown, known[0]])["hash:manuscript"][:6], vectors["hash:manuscript"], rtol=1e-5
    )
    assert encoder.encoded == len({query.title for query in known}), "each manuscript once"
    assert list(retriever.encode([Query("w", title="grammar")])) == ["hash"]
    plain = VectorRetriever(Index.build(corpus, History.all(corpus), encoders=[HashEncoder()]), HashEncoder())
    assert list(plain.encode(known)) == ["hash"]


def test_similarities_of_all_papers_are_those_of_the_nearest_and_no_less_than_the_last_of_them(
    corpus: Corpus, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = VectorRetriever(index, HashEncoder())
    queries = queries_of(corpus, range(100, 110))
    vectors = retriever.encode(queries)["hash"]
    exact = retriever.over_all(queries, vectors)
    assert all(exact[i, query.paper] == 0 for i, query in enumerate(queries)), (
        "nearness to itself is no measure"
    )
    cosines = np.maximum(vectors @ retriever.vectors.raw.T, 0)
    cosines[np.arange(10), [query.paper for query in queries]] = 0
    np.testing.assert_allclose(exact, cosines, rtol=1e-6)
    monkeypatch.setattr(dense, "FLAT_LIMIT", 10)
    monkeypatch.setattr(dense, "POOL", 7)
    pooled = retriever.over_all(queries, vectors)
    for i in range(len(queries)):
        seventh = np.sort(exact[i])[-7]
        np.testing.assert_allclose(pooled[i], np.maximum(exact[i], seventh), rtol=1e-5)

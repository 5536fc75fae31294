"""Vectors of queries: of their texts, and of manuscripts, which the index may hold already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.protocols import Query
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.query_vectors import QueryVectors


class ManuscriptHash(HashEncoder):
    """Encodes manuscripts apart from contexts, and counts them."""

    manuscripts = 0
    reads_queries_as_papers = True

    def encode_manuscripts(self, queries):
        self.manuscripts += len(queries)
        return self._encode([f"{query.title} {query.abstract}" for query in queries])


@pytest.fixture(scope="module")
def index(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> ShardedIndex:
    root = tmp_path_factory.mktemp("index")
    return ShardedIndex.create(corpus, root, shards=2, encoders=[HashEncoder()])


def test_manuscripts_of_the_index_are_not_encoded_again(corpus: Corpus, index: ShardedIndex) -> None:
    encoder = ManuscriptHash()
    queries = [*queries_of(corpus, [100, 200]), Query("new", context="x [CIT]", title="a new manuscript")]
    vectors = QueryVectors(index, encoder).encode([*queries, queries[-1]])
    assert set(vectors) == {"hash", "hash:manuscript"}
    rows = np.array([query.paper for query in queries[:2]])
    np.testing.assert_array_equal(vectors["hash:manuscript"][:2], encoder.encode_papers(corpus, rows))
    assert encoder.manuscripts == 1
    assert set(QueryVectors(index, encoder).encode([Query("q", title="global")])) == {"hash"}


def test_a_known_papers_global_query_has_its_own_vector(corpus: Corpus, index: ShardedIndex) -> None:
    encoder = ManuscriptHash()
    known = [replace(query, context="") for query in queries_of(corpus, [100, 200])]
    queries = [*known, Query("new", title="a new manuscript")]
    vectors = QueryVectors(index, encoder).encode(queries)["hash"]
    rows = np.array([query.paper for query in known])
    np.testing.assert_array_equal(vectors[:2], encoder.encode_papers(corpus, rows))
    np.testing.assert_array_equal(vectors[2:], encoder.encode_manuscripts(queries[2:]))
    assert encoder.manuscripts == 2
    encoder.reads_queries_as_papers = False  # another prompt for queries: all are encoded
    encoded = QueryVectors(index, encoder).encode(queries)["hash"]
    np.testing.assert_array_equal(encoded, encoder.encode_queries(queries))
    assert encoder.manuscripts == 2


def test_another_encoder_of_the_name_is_refused(index: ShardedIndex) -> None:
    with pytest.raises(InputError, match="made by encoder hash-1, not hash-2"):
        QueryVectors(index, HashEncoder("hash-2"))
    with pytest.raises(InputError, match="holds no vectors of other"):
        QueryVectors(index, HashEncoder(name="other"))


def test_vectors_that_are_not_finite_are_refused(index: ShardedIndex) -> None:
    class Broken(HashEncoder):
        def encode_queries(self, queries):
            return np.full((len(queries), 16), np.nan, np.float32)

    with pytest.raises(IntegrityError, match="hash: vectors of queries are not finite"):
        QueryVectors(index, Broken()).encode([Query("q", title="x")])

"""BM25 and vectors over shards rank as over an index that is searched whole."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.query_forms import QueryForm
from cocite.retrieval.sharded_retrievers import bm25_retriever, vector_retriever


@pytest.fixture(scope="module")
def both(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[Index, ShardedIndex]:
    root = tmp_path_factory.mktemp("index")
    encoders = [HashEncoder()]
    whole = Index.build(corpus, History.all(corpus), encoders=encoders)
    return whole, ShardedIndex.create(corpus, root, shards=3, encoders=encoders)


@pytest.fixture
def queries(corpus: Corpus) -> list[Query]:
    result = queries_of(corpus, range(100, 112))
    result[0] = dataclasses.replace(result[0], candidates_until=2004)
    result[1] = dataclasses.replace(result[1], exclude=(2, 5, 7))
    return result


def test_bm25_ranks_the_same_papers(both: tuple[Index, ShardedIndex], queries: list[Query]) -> None:
    one, other = (bm25_retriever(index, QueryForm.CONTEXT_TITLE).search(queries, 10) for index in both)
    np.testing.assert_allclose(other.scores, one.scores, rtol=1e-5)
    same = one.rows == other.rows
    # Equal scores may be added up in another order of words.
    assert same.mean() > 0.95
    with pytest.raises(InputError, match="key terms are chosen by counts of all papers"):
        bm25_retriever(both[1], QueryForm.KEY_TERMS)
    with pytest.raises(InputError, match="key terms are chosen by counts of all papers"):
        bm25_retriever(both[1], QueryForm.FIELD_KEY_TERMS)


def test_vectors_rank_the_same_papers(both: tuple[Index, ShardedIndex], queries: list[Query]) -> None:
    retrievers = [vector_retriever(index, HashEncoder()) for index in both]
    one, other = (retriever.search(queries, 10) for retriever in retrievers)
    np.testing.assert_array_equal(other.rows, one.rows)
    np.testing.assert_allclose(other.scores, one.scores, rtol=1e-5)
    vectors = HashEncoder().encode_queries(queries)
    rows = one.rows.copy()
    rows[0, 3] = NO_ROW
    found = [retriever.similarities(vectors, rows) for retriever in retrievers]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-7)
    assert found[1][0, 3] == 0

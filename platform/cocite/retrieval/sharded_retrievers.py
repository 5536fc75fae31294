"""BM25 and nearest vectors alone, over the shards of an index: the baselines that every system is compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.protocols import NO_ROW, Encoder, Query, Ranking, Retriever
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.engines.inverted_lists import Best
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.query_forms import QueryForm, query_texts
from cocite.retrieval.query_vectors import QueryVectors
from cocite.retrieval.shards.messages import SearchRequest
from cocite.retrieval.shards.paper_filter import EVERYTHING, PaperFilter
from cocite.retrieval.vector_retriever import VectorRetriever


def bm25_retriever(index: SearchIndex, form: QueryForm) -> Retriever:
    """BM25 over title and abstract of an index' papers, whether it is searched whole or in shards."""
    return Bm25Retriever(index, form) if isinstance(index, Index) else ShardedBm25(index, form)


def vector_retriever(index: SearchIndex, encoder: Encoder) -> VectorRetriever | ShardedVectorRetriever:
    """The nearest vectors of an index' papers, whether it is searched whole or in shards."""
    if isinstance(index, Index):
        return VectorRetriever(index, encoder)
    return ShardedVectorRetriever(index, encoder)


class ShardedBm25:
    """Retrieves papers of any shard that share words with the query; a paper that shares none is not retrieved.

    Args:
        index: what is searched.
        form: which of the query's texts is matched against title and abstract.

    Raises:
        InputError: the form needs word counts of the whole corpus, which shards do not have.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> retriever = ShardedBm25(Index.build(corpus, History.all(corpus)), QueryForm.TITLE)
        >>> ranking = retriever.search([Query("q", title="dense passage retrieval")], 1)
        >>> corpus.paper(int(ranking.rows[0, 0])).title
        'Dense Passage Retrieval for Open-Domain Question Answering'
    """

    def __init__(self, index: SearchIndex, form: QueryForm) -> None:
        if form in (QueryForm.KEY_TERMS, QueryForm.FIELD_KEY_TERMS):
            raise InputError(
                "key terms are chosen by counts of all papers, which an index in shards does not hold",
                hint="rank with another form, or over an index that is built with --shards 1",
            )
        self.index, self.form, self.name = index, form, f"bm25:{form}:text"

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query."""
        words = [self.index.paper_words([text]) for text in query_texts(queries, self.form)]
        return _search(self.index, queries, SearchRequest("text", words, None, _filters(queries), k), k)


class ShardedVectorRetriever(QueryVectors):
    """Retrieves papers of any shard whose vectors are near the query's.

    Args:
        index: with the encoder's vectors.
        encoder: makes the queries' vectors.

    Raises:
        InputError: the index holds no vectors of this very encoder.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> class Years:  # an encoder for the example: papers of near years have near vectors
        ...     name, id, dimension = "years", "1", 2
        ...     def encode_papers(self, corpus, rows):
        ...         return self._vectors(corpus.years[rows])
        ...     def encode_queries(self, queries):
        ...         return self._vectors(np.array([query.year for query in queries]))
        ...     def _vectors(self, years):
        ...         angles = (years - 1950) / 100
        ...         return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
        >>> index = Index.build(corpus, History.all(corpus), encoders=[Years()])
        >>> ranking = ShardedVectorRetriever(index, Years()).search([Query("q", title="A title", year=1994)], 4)
        >>> corpus.years[ranking.rows[0]]
        array([1994, 1994, 1994, 1995], dtype=int16)
    """

    def __init__(self, index: SearchIndex, encoder: Encoder) -> None:
        super().__init__(index, encoder)
        self.index = index

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` nearest papers of each query."""
        return self.search_vectors(queries, self.encode_texts(queries), k)

    def search_vectors(self, queries: Sequence[Query], vectors: NDArray[np.float32], k: int) -> Ranking:
        """As :meth:`search`, for queries whose vectors (Q, d) are known."""
        request = SearchRequest(self.name, None, vectors, _filters(queries), k)
        return _search(self.index, queries, request, k)

    def similarities(self, vectors: NDArray[np.float32], rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(Q, k) the similarity of query vectors (Q, d) to given papers (Q, k); 0 at ``NO_ROW``."""
        papers = self.index.paper_vectors(self.name)
        result = np.zeros(rows.shape, np.float32)
        for i, of_query in enumerate(rows):
            known = of_query != NO_ROW
            result[i, known] = np.einsum("d,kd->k", vectors[i], papers[of_query[known]])
        return result


def _filters(queries: Sequence[Query]) -> list[PaperFilter]:
    """The papers that each query may retrieve: not its own, none that it excludes, none later than it allows."""
    own = [[query.paper] if query.paper != NO_ROW else [] for query in queries]
    return [
        (PaperFilter.rows([*query.exclude, *paper]) if query.exclude or paper else EVERYTHING).until(
            query.candidates_until
        )
        for query, paper in zip(queries, own, strict=True)
    ]


def _search(index: SearchIndex, queries: Sequence[Query], request: SearchRequest, k: int) -> Ranking:
    """The best of all shards; equal scores in order of the row.

    Raises:
        InputError: a shard did not answer.
    """
    replies = index.shards.search(request)
    found = [reply for reply in replies if reply is not None]
    if len(found) < len(replies):
        raise InputError(f"{len(replies) - len(found)} of {len(replies)} shards did not answer")
    width = min(k, len(index))
    rows = np.full((len(queries), width), NO_ROW, np.int32)
    scores = np.full((len(queries), width), -np.inf, np.float32)
    for i in range(len(queries)):
        best = Best.of([part[i] for part in found], width)
        rows[i, : len(best.rows)], scores[i, : len(best.rows)] = best
    return Ranking(rows, scores)

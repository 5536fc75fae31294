"""What holds of every retriever: papers that none of them may retrieve."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, make_records, queries_of

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.evaluation.citeomatic import CiteomaticRanker
from cocite.protocols import NO_ROW, Query, Retriever
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.index.index import Index
from cocite.retrieval.query_forms import QueryForm
from cocite.retrieval.signals.citing_sentences import CitingSentences
from cocite.retrieval.signals.neighbours import Neighbours
from cocite.retrieval.vector_retriever import VectorRetriever


@pytest.fixture(scope="module")
def index(corpus: Corpus) -> Index:
    return Index.build(corpus, History.all(corpus), encoders=[HashEncoder()])


def every(index: Index) -> list[Retriever]:
    return [
        *(Bm25Retriever(index, form) for form in QueryForm),
        Bm25Retriever(index, "title", "abstract"),
        CitingSentences(index),
        Neighbours(index),
        Neighbours(index, neighbours=5, by=VectorRetriever(index, HashEncoder())),
        VectorRetriever(index, HashEncoder()),
    ]


def test_no_retriever_finds_the_query_or_what_it_excludes(corpus: Corpus, index: Index) -> None:
    queries = [
        Query(
            q.id,
            q.context,
            q.title,
            q.abstract,
            paper=q.paper,
            exclude=tuple(map(int, corpus.cites[q.paper])),
        )
        for q in queries_of(corpus, range(100, 140))
    ]
    for retriever in every(index):
        assert isinstance(retriever, Retriever)
        ranking = retriever.search(queries, len(corpus))
        for query, rows in zip(queries, ranking.rows, strict=True):
            assert not np.isin([query.paper, *query.exclude], rows).any(), retriever.name
            found = rows[rows != NO_ROW]
            assert len(set(found.tolist())) == len(found) > 0


def test_no_retriever_finds_a_paper_later_than_the_query_allows(tmp_path: Path) -> None:
    """Each query of a batch has its own limit; papers of unknown year stay."""
    records = [
        dataclasses.replace(record, year=0) if isinstance(record, PaperRecord) and i % 9 == 0 else record
        for i, record in enumerate(make_records(80))
    ]
    corpus = build(records, tmp_path / "store")
    years = np.asarray(corpus.years)
    assert (years == 0).any()
    index = Index.build(corpus, History.all(corpus), encoders=[HashEncoder()])
    limits = [1990, 2003, None, 2005, 2003, 2009]
    free = queries_of(corpus, range(100, 106))
    limited = [
        dataclasses.replace(query, candidates_until=limit) for query, limit in zip(free, limits, strict=True)
    ]
    ranker = CiteomaticRanker(index, HashEncoder(), neighbours=5)
    for name, search in [*((r.name, r.search) for r in every(index)), ("citeomatic", ranker.rank)]:
        for query, limit, rows in zip(limited, limits, search(limited, len(corpus)).rows, strict=True):
            found = rows[rows != NO_ROW]
            assert limit is None or (years[found] <= limit).all(), name
            if name.startswith(("bm25", "hash")):
                whole = search([dataclasses.replace(query, candidates_until=None)], len(corpus)).rows[0]
                allowed = (whole != NO_ROW) & (years[whole] <= (limit or 3000))
                np.testing.assert_array_equal(found, whole[allowed], err_msg=name)

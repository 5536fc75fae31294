"""BM25 alone: the baseline of every other system, which needs no model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import Query, Ranking
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.paper_indexes import PaperIndexes
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.query_forms import QueryForm
from cocite.retrieval.sharded_retrievers import bm25_retriever

LOCAL_FORM = QueryForm.CONTEXT_TITLE
"""The form of a local query by default: the one of the best MRR in the reference table."""
GLOBAL_FORM = QueryForm.TITLE_ABSTRACT
"""The form of a global query by default."""


class Bm25Baseline:
    """Ranks all papers by BM25 of title + abstract: Lucene's formula, k1 = 1.2, b = 0.75, no stemming.

    Args:
        index: what is searched.
        form: which of a query's texts is matched; ``LOCAL_FORM`` or ``GLOBAL_FORM`` by default, as the query is.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> baseline = Bm25Baseline(lexical_index(corpus))
        >>> ranking = baseline.search([Query("q", title="dense passage retrieval")], 1)
        >>> corpus.paper(int(ranking.rows[0, 0])).title
        'Dense Passage Retrieval for Open-Domain Question Answering'
    """

    def __init__(self, index: SearchIndex, form: QueryForm | None = None) -> None:
        self.name = f"bm25-{form or 'auto'}"
        self.local = bm25_retriever(index, form or LOCAL_FORM)
        self.global_ = bm25_retriever(index, form or GLOBAL_FORM)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query."""
        is_local = np.array([query.is_local for query in queries], bool)
        parts = [
            (
                np.flatnonzero(chosen),
                retriever.search([queries[i] for i in np.flatnonzero(chosen).tolist()], k),
            )
            for chosen, retriever in ((is_local, self.local), (~is_local, self.global_))
        ]
        order = np.argsort(np.concatenate([positions for positions, _ in parts]))
        return Ranking(
            np.concatenate([ranking.rows for _, ranking in parts])[order],
            np.concatenate([ranking.scores for _, ranking in parts])[order],
        )


def lexical_index(corpus: Corpus) -> Index:
    """An index in memory of the papers' words alone: without links, contexts and vectors."""
    no_links = History(corpus, np.zeros(len(corpus), bool))
    papers = {"text": PaperIndexes.build(corpus)["text"]}  # as an index folder has it, to the last bit
    return Index(corpus, no_links, np.ones(len(corpus), bool), papers, Bm25Index.build([]))

"""BM25 over the papers of an index, as a retriever."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError, nearest
from cocite.protocols import Query, Ranking
from cocite.retrieval.dense_search import keep_positive, search_dense
from cocite.retrieval.index.index import Index
from cocite.retrieval.query_forms import QueryForm, query_texts


class Bm25Retriever:
    """Retrieves papers that share words with the query.

    Args:
        index: what is searched.
        form: which of the query's texts is matched.
        field: the papers' field that it is matched against: ``text`` (title and abstract), ``title`` or ``abstract``.

    Raises:
        InputError: the index has no such field.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> retriever = Bm25Retriever(Index.build(corpus, History.all(corpus)), "title")
        >>> ranking = retriever.search([Query("q", title="dense passage retrieval")], 1)
        >>> retriever.name, corpus.paper(int(ranking.rows[0, 0])).title
        ('bm25:title:text', 'Dense Passage Retrieval for Open-Domain Question Answering')
    """

    def __init__(self, index: Index, form: QueryForm | str, field: str = "text") -> None:
        if field not in index.papers:
            raise InputError(f"papers have no field {field!r}", hint=nearest(field, index.papers))
        self.index, self.field = index, field
        self.form = QueryForm(form)
        self.name = f"bm25:{self.form}:{field}"

    def texts(self, queries: Sequence[Query]) -> list[str]:
        """(Q,) the texts that are matched."""
        return query_texts(queries, self.form, index=self.index.papers[self.field], fields=self.index.papers)

    def scores(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, N) scores; ``-inf`` where a query may not retrieve a paper."""
        return self.index.forbid(self.index.papers[self.field].scores(self.texts(queries)), queries)

    def at(self, queries: Sequence[Query], rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(Q, k) scores of given candidates."""
        return self.index.papers[self.field].at(self.texts(queries), rows)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query; a paper that shares no word is not retrieved."""
        return search_dense(queries, k, len(self.index), lambda block: keep_positive(self.scores(block)))

"""Scores of texts against anchor texts: a paper as the papers that cite it describe it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.protocols import Query
from cocite.retrieval.engines.document_words import DocumentWords
from cocite.retrieval.engines.inverted_lists import TextCounts
from cocite.retrieval.engines.query_words import Omission, QueryWords
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.self_citations import SelfCitations
from cocite.text.gaps import around_gap


class Anchors:
    """Scores papers by the known contexts that cite them.

    Args:
        index: with anchor texts.

    Attributes:
        whole, near, windows: the BM25 indexes of :class:`~cocite.retrieval.engines.anchor_texts.AnchorTexts`.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> index = Index.build(corpus, History.all(corpus))
        >>> anchors, queries = Anchors(index), [Query("q", context="BM25 is the usual baseline [CIT]")]
        >>> texts = index.contexts.count(window_texts(queries))
        >>> anchors.scores(texts, SelfCitations(index, queries), near=True).shape
        (1, 423)
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        texts = index.anchors
        self.windows, self.whole, self.near = texts.windows, texts.whole, texts.near
        if len(self.whole) != len(index):
            raise InputError("the index was made without anchor texts", hint="make it with Index.build")

    def scores(self, texts: TextCounts, own: SelfCitations, *, near: bool = False) -> NDArray[np.float32]:
        """(Q, N) BM25 of each text against the anchor text of each paper.

        The contexts of a query's own paper are taken out of the documents before they are scored, so that an indexed
        manuscript gets the scores that it would have if it were not indexed (but for the corpus statistics).

        Args:
            texts: the words of Q texts in the contexts' vocabulary.
            own: the self-citations of the Q queries.
            near: whether to score against the words next to the gaps alone.
        """
        documents = self.near if near else self.whole
        scores = documents.lists.dense(texts)
        for i in np.flatnonzero(own.end > own.begin).tolist():
            part = slice(texts.indptr[i], texts.indptr[i + 1])
            asked = QueryWords(texts.words[part], texts.times[None, part])
            rows, without = self._own_words(own, i, asked, near)
            scores[i, rows] = documents.scores_at(asked, rows, without)[0]
        return scores

    def _own_words(
        self, own: SelfCitations, query: int, asked: QueryWords, near: bool
    ) -> tuple[NDArray[np.int32], Omission]:
        """The papers that a query's own contexts cite, ascending, and what these contexts add to their anchor texts."""
        first, last = int(own.begin[query]), int(own.end[query])
        words = DocumentWords.of(self.windows if near else self.index.contexts, asked, first, last)
        return words.omitted(own.contexts_cited(query))


def window_texts(queries: Sequence[Query]) -> list[str]:
    """The words next to each query's gap; empty for a query without one."""
    return [around_gap(query.context) for query in queries]

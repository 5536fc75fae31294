"""Scores of texts against anchor texts: a paper as the papers that cite it describe it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.protocols import Query
from cocite.retrieval.engines.bm25 import Omission, QueryWords
from cocite.retrieval.engines.inverted_lists import TextCounts
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.self_citations import SelfCitations
from cocite.text.gaps import around_gap


class Anchors:
    """Scores papers by the known contexts that cite them.

    Args:
        index: with anchor texts.

    Attributes:
        whole, near, windows: the BM25 indexes of :class:`~cocite.retrieval.engines.anchor_texts.AnchorTexts`.
        contexts: (N,) how many contexts cite each paper.

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
        cited = index.cited_by_context.indices
        self.contexts: NDArray[np.int32] = np.bincount(cited, minlength=len(index)).astype(np.int32)

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

    def scores_at(
        self,
        asked: QueryWords,
        own: SelfCitations,
        query: int,
        rows: NDArray[np.int32],
        *,
        near: bool = False,
    ) -> NDArray[np.float32]:
        """(F, k) the same of chosen papers (k,) for several texts of one query; 0 at ``NO_ROW``.

        Args:
            asked: the F texts' words in the contexts' vocabulary.
            own: the self-citations of a block of queries.
            query: position of the query in it.
            rows: the papers.
            near: whether to score against the words next to the gaps alone.
        """
        documents = self.near if near else self.whole
        scores = documents.scores_at(asked, rows)
        if own.end[query] > own.begin[query]:
            papers, without = self._own_words(own, query, asked, near)
            position = np.minimum(np.searchsorted(papers, rows), len(papers) - 1)
            affected = papers[position] == rows
            scores[:, affected] = documents.scores_at(asked, papers, without)[:, position[affected]]
        return scores

    def _own_words(
        self, own: SelfCitations, query: int, asked: QueryWords, near: bool
    ) -> tuple[NDArray[np.int32], Omission]:
        """The papers that a query's own contexts cite, ascending, and what these contexts add to their anchor texts."""
        counts = (self.windows if near else self.index.contexts).counts
        first, last = int(own.begin[query]), int(own.end[query])
        words = slice(counts.indptr[first], counts.indptr[last])
        context = np.repeat(np.arange(last - first), np.diff(counts.indptr[first : last + 1]))
        times = counts.data[words].astype(np.float32)
        lengths = np.bincount(context, times, minlength=last - first)
        column = np.minimum(np.searchsorted(asked.words, counts.indices[words]), len(asked.words) - 1)
        shared = (
            asked.words[column] == counts.indices[words] if len(asked.words) else np.zeros(len(times), bool)
        )
        of_context = np.zeros((last - first, len(asked.words)), np.float32)
        of_context[context[shared], column[shared]] = times[shared]
        owner, cited = self.index.cited_by_context.gather(np.arange(first, last))
        papers, position = np.unique(cited, return_inverse=True)
        members = np.zeros((len(papers), last - first), np.float32)
        members[position, owner] = 1
        return papers, Omission(members @ of_context, members @ lengths.astype(np.float32))


def window_texts(queries: Sequence[Query]) -> list[str]:
    """The words next to each query's gap; empty for a query without one."""
    return [around_gap(query.context) for query in queries]

"""Anchor text: a paper as those who cited it describe it.

All historical contexts that cite a paper make one document, as the texts of links to a page do in web search. It
names what a paper is cited *for*, in the words of its readers, which its own abstract often lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.protocols import Query
from cocite.retrieval.bm25 import Bm25Index
from cocite.retrieval.index import Index
from cocite.retrieval.own_links import OwnLinks
from cocite.text.gaps import around_gap


class Anchors:
    """Two BM25 indexes whose document i is all that the history says when it cites paper i.

    Attributes:
        whole: of whole contexts.
        near: of the words next to the gap alone.
        windows: those words, a document a context, in the order of ``index.contexts``.
        contexts: (N,) how many contexts cite each paper.
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        owner, cited = index.ballots.pairs()
        texts = chain.from_iterable(index.corpus.contexts.batches("text"))
        known = np.zeros(len(index.corpus.contexts), bool)
        known[index.history.contexts] = True
        self.windows = Bm25Index.build(
            around_gap(text) for text, kept in zip(texts, known, strict=True) if kept
        )
        self.whole = index.contexts.grouped(owner, cited, len(index))
        self.near = self.windows.grouped(owner, cited, len(index))
        self.contexts: NDArray[np.int32] = np.bincount(cited, minlength=len(index)).astype(np.int32)

    def scores(self, texts: Sequence[str], own: OwnLinks, *, near: bool = False) -> NDArray[np.float32]:
        """(Q, N) BM25 of each text against what others say of each paper.

        What a query's own paper says is taken out of the documents before they are scored, so that an indexed
        manuscript is answered as if it were not there (but for the corpus statistics).
        """
        documents, sources = (self.near, self.windows) if near else (self.whole, self.index.contexts)
        scores = documents.scores(texts)
        for i in np.flatnonzero(own.end > own.begin).tolist():
            said = np.arange(own.begin[i], own.end[i])
            owner, cited = self.index.ballots.gather(said)
            rows, place = np.unique(cited, return_inverse=True)
            ones = np.ones(len(owner), np.int32)
            members = sp.csr_matrix((ones, (place, owner)), shape=(len(rows), len(said)))
            others = documents.counts[rows] - members @ sources.counts[said]
            scores[i, rows] = documents.scores_of(texts[i], others)
        return scores


def window_texts(queries: Sequence[Query]) -> list[str]:
    """The words next to each query's gap; empty for a query without one."""
    return [around_gap(query.context) for query in queries]

"""Scores of texts against anchor texts: a paper as those who cited it describe it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.protocols import Query
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.self_citations import OwnLinks
from cocite.text.gaps import around_gap


class Anchors:
    """Scores papers by all that the history says when it cites them.

    Attributes:
        whole, near, windows: the BM25 indexes of :class:`~cocite.retrieval.engines.anchor_texts.AnchorTexts`.
        contexts: (N,) how many contexts cite each paper.
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        texts = index.anchors
        self.windows, self.whole, self.near = texts.windows, texts.whole, texts.near
        if len(self.whole) != len(index):
            raise InputError("the index was made without anchor texts", hint="make it with Index.build")
        cited = index.ballots.indices
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

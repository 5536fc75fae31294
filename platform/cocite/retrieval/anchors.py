"""Anchor text: a paper as those who cited it describe it.

All historical contexts that cite a paper make one document, as the texts of links to a page do in web search. It
names what a paper is cited *for*, in the words of its readers, which its own abstract often lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import Query
from cocite.retrieval.bm25 import Bm25Index
from cocite.retrieval.index import Index
from cocite.text.gaps import around_gap


class Anchors:
    """Two BM25 indexes whose document i is all that the history says when it cites paper i.

    Attributes:
        whole: of whole contexts.
        near: of the words next to the gap alone.
    """

    def __init__(self, index: Index) -> None:
        ballots = index.ballots
        owner, cited = ballots.pairs()
        self.whole = index.contexts.grouped(owner, cited, len(index))
        texts = chain.from_iterable(index.corpus.contexts.batches("text"))
        known = np.zeros(len(index.corpus.contexts), bool)
        known[index.history.contexts] = True
        windows = Bm25Index.build(around_gap(text) for text, kept in zip(texts, known, strict=True) if kept)
        self.near = windows.grouped(owner, cited, len(index))
        self.windows = windows
        self.contexts: NDArray[np.int32] = np.bincount(cited, minlength=len(index)).astype(np.int32)


def window_texts(queries: Sequence[Query]) -> list[str]:
    """The words next to each query's gap; empty for a query without one."""
    return [around_gap(query.context) for query in queries]

"""Changes of a BM25 index that keep its statistics: documents leave it, or hold more words or fewer.

What is not changed keeps its scores to the bit, as under :meth:`~cocite.retrieval.engines.bm25.Bm25Index.append_counts`
for documents that join. :meth:`~cocite.retrieval.engines.bm25.Bm25Index.select` gives exact statistics instead, and
takes far longer: it weighs and orders all that remains.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_weights import extended_idf


def without_documents(index: Bm25Index, kept: NDArray[np.bool_]) -> Bm25Index:
    """An index of some documents alone, numbered anew in their order.

    Args:
        index: of N documents.
        kept: (N,) those that remain.

    Example:
        >>> index = Bm25Index.build(["chart parsing", "neural parsing", "neural nets"])
        >>> fewer = without_documents(index, np.array([True, False, True]))
        >>> fewer.search(["neural"], 1).rows.tolist()
        [[1]]
    """
    return index.like(
        index.vocabulary,
        index.counts.take(np.flatnonzero(kept)),
        index.idf,
        lists=(lambda: index.lists.without(kept)) if index.has_lists else None,
    )


def with_words(
    index: Bm25Index,
    documents: NDArray[np.int64],
    words: sp.csr_matrix,
    *,
    count: int | None = None,
    vocabulary: dict[str, int] | None = None,
    idf: NDArray[np.float64] | None = None,
) -> Bm25Index:
    """An index whose documents hold more words, or fewer where a count is negative.

    Args:
        index: of N documents.
        documents: (k,) ascending, each once.
        words: (k, V) how often each word is added.
        count: how many documents there are then; those behind the present ones are empty before. N by default.
        vocabulary: the index' words, and behind them the new ones.
        idf: (V,) of known and new words; by default a new word gets the formula's.

    Example:
        >>> index = Bm25Index.build(["chart parsing", "neural parsing"])
        >>> words = sp.csr_matrix(np.array([[1, 0, 2]]))
        >>> with_words(index, np.array([1]), words).counts.matrix().toarray().tolist()
        [[1, 1, 0], [1, 1, 3]]
    """
    count = len(index) if count is None else count
    # Words of a part of the documents alone may be fewer than all documents' or more.
    words = matrices.widened(words, max(words.shape[1], index.counts.shape[1]))
    if idf is None:
        idf = extended_idf(index.idf, np.bincount(words.indices, minlength=words.shape[1]), count)
    counts = index.counts.changed(documents, words, count)
    return index.like(index.vocabulary if vocabulary is None else vocabulary, counts, idf)

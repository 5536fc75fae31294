"""How often some documents hold the words of a query, for scores that leave these documents out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.query_words import Omission, QueryWords


@dataclass(frozen=True)
class DocumentWords:
    """The occurrences of S words in m documents.

    Attributes:
        times: (m, S) how often each document holds each word.
        lengths: (m,) number of words of each document.

    Example:
        >>> index = Bm25Index.build(["chart parsing", "neural parsing of a chart"])
        >>> DocumentWords.of(index, index.query_words(["parsing chart"]), 1, 2)
        DocumentWords(times=array([[1., 1.]], dtype=float32), lengths=array([3.], dtype=float32))
    """

    times: NDArray[np.float32]
    lengths: NDArray[np.float32]

    @classmethod
    def of(cls, index: Bm25Index, asked: QueryWords, first: int, last: int) -> DocumentWords:
        """The words of the documents ``first : last`` of an index.

        Args:
            index: the documents.
            asked: the query's words in its vocabulary.
            first, last: positions.
        """
        counts, documents = index.counts.rows(np.arange(first, last)), last - first
        document = np.repeat(np.arange(documents), np.diff(counts.indptr))
        words, times = counts.indices, counts.data.astype(np.float32)
        column = np.minimum(np.searchsorted(asked.words, words), len(asked.words) - 1)
        shared = asked.words[column] == words if len(asked.words) else np.zeros(len(times), bool)
        result = np.zeros((documents, len(asked.words)), np.float32)
        result[document[shared], column[shared]] = times[shared]
        return cls(result, index.lengths[first:last].astype(np.float32))

    def omitted(self, cited: CSR) -> tuple[NDArray[np.int32], Omission]:
        """What these documents add to the groups of documents that they belong to.

        Args:
            cited: for each document, its groups: for a context, the papers that it cites.

        Returns:
            The groups, ascending, and the words that each of them holds by these documents.
        """
        owner, papers = cited.pairs()
        groups, position = np.unique(papers, return_inverse=True)
        members = np.zeros((len(groups), len(cited)), np.float32)
        members[position, owner] = 1
        return groups.astype(np.int32), Omission(members @ self.times, members @ self.lengths)

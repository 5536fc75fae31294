"""The weights of words in documents: Lucene's BM25 formula.

The weight of a word t that occurs f times in a document of length l, where n of N documents hold it, is
``idf * f / (f + k1 * (1 - b + b * l / mean length))`` with ``idf = log(1 + (N - n + 0.5) / (n + 0.5))`` (Robertson and
Zaragoza, 2009, section 3; the constant factor k1 + 1 is left out, as Lucene does). It does not depend on the query.
The tests compare it with the bm25s library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.packed_counts import FieldCounts


def lucene_idf(holding: NDArray[np.integer[Any]], documents: int) -> NDArray[np.float64]:
    """Lucene's inverse document frequency, which is never negative.

    Args:
        holding: (V,) how many documents hold each word.
        documents: N.

    Example:
        >>> lucene_idf(np.array([1, 4]), 4).round(3)
        array([1.204, 0.105])
    """
    return np.asarray(np.log1p((documents - holding + 0.5) / (holding + 0.5)), np.float64)


def extended_idf(
    idf: NDArray[np.float64], holding: NDArray[np.integer[Any]], documents: int
) -> NDArray[np.float64]:
    """The idf of known words, which stay, and that of new words by the formula.

    Args:
        idf: (V,) of the known words.
        holding: (W,) how many documents hold each of the known words, which are not read, and of the new ones behind.
        documents: N.

    Example:
        >>> extended_idf(np.array([0.5]), np.array([9, 4]), 4).round(3)
        array([0.5  , 0.105])
    """
    return np.concatenate([idf, lucene_idf(holding[len(idf) :], documents)])


@dataclass(frozen=True)
class TermWeighting:
    """BM25's formula with the statistics of a collection.

    Attributes:
        idf: (V,) inverse document frequencies.
        mean_length: mean number of words of a document.
        k1: how soon further occurrences of a word stop counting.
        b: how far long documents are normalised.

    Example:
        >>> weighting = TermWeighting(lucene_idf(np.array([1, 4]), 4), mean_length=5.0, k1=1.2, b=0.75)
        >>> weighting.weights(np.array([0, 0]), np.array([1, 2]), np.array([5, 5])).round(3)
        array([0.547, 0.752])
    """

    idf: NDArray[np.float64]
    mean_length: float
    k1: float
    b: float

    def weights(self, words: NDArray[Any], times: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.float64]:
        """(n,) the weight of each occurring word.

        Args:
            words: (n,) columns of the vocabulary.
            times: (n,) how often the document holds the word.
            lengths: (n,) number of words of the document.
        """
        saturation = self.k1 * (1 - self.b + self.b * lengths / self.mean_length)
        weight: NDArray[np.float64] = self.idf[words] * times / (times + saturation)
        return weight

    def weigh(self, counts: FieldCounts) -> sp.csr_matrix:
        """(N, V) float32 weights of the words of documents."""
        indptr, first = counts.indptr(), 0
        words, data = np.empty(int(indptr[-1]), np.int32), np.empty(int(indptr[-1]), np.float32)
        # In blocks: the float64 intermediates of a large corpus at once would be the most memory of all.
        for block in counts.blocks():
            last = first + block.shape[0]
            entries = slice(int(indptr[first]), int(indptr[last]))
            lengths = np.repeat(counts.lengths[first:last], np.diff(block.indptr))
            words[entries] = block.indices
            data[entries] = self.weights(block.indices, block.data, lengths)
            first = last
        return matrices.sorted_rows((data, words, indptr), counts.shape)

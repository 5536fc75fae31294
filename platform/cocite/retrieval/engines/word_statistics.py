"""The statistics of a collection that BM25 weighs words by; those of parts add up to those of the whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.atomic_files import write_atomic
from cocite.manifests import read_json
from cocite.retrieval.engines.bm25_weights import lucene_idf
from cocite.retrieval.engines.packed_counts import FieldCounts


@dataclass(frozen=True)
class WordStatistics:
    """What is counted of a collection of documents.

    Attributes:
        holding: (V,) how many documents hold each word.
        documents: N.
        words: how many words all documents have together.

    Example:
        >>> counts = sp.csr_matrix(np.array([[2, 0, 1], [1, 0, 0]]))
        >>> whole = WordStatistics.of(counts)
        >>> whole.holding.tolist(), whole.documents, whole.mean_length
        ([2, 0, 1], 2, 2.0)
        >>> parts = WordStatistics.total([WordStatistics.of(counts[:1, :]), WordStatistics.of(counts[1:, :1])])
        >>> bool((parts.holding == whole.holding).all()), parts.words == whole.words
        (True, True)
    """

    holding: NDArray[np.int64]
    documents: int
    words: int

    @classmethod
    def of(cls, counts: sp.csr_matrix) -> WordStatistics:
        """The statistics of documents given by their word counts (N, V)."""
        holding = np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.int64)
        return cls(holding, int(counts.shape[0]), int(counts.data.sum(dtype=np.int64)))

    @classmethod
    def of_packed(cls, counts: FieldCounts) -> WordStatistics:
        """The statistics of documents whose word counts are packed."""
        return cls(counts.holding(), counts.shape[0], int(counts.lengths.sum(dtype=np.int64)))

    @classmethod
    def total(cls, parts: Sequence[WordStatistics]) -> WordStatistics:
        """The statistics of all parts together; the vocabulary of a later part may be longer."""
        holding = np.zeros(max((len(part.holding) for part in parts), default=0), np.int64)
        for part in parts:
            holding[: len(part.holding)] += part.holding
        return cls(holding, sum(part.documents for part in parts), sum(part.words for part in parts))

    @property
    def mean_length(self) -> float:
        """Mean number of words of a document; 1 where there are none, by which a length can be divided."""
        return self.words / max(self.documents, 1) or 1.0

    @property
    def idf(self) -> NDArray[np.float64]:
        """(V,) inverse document frequencies."""
        result: NDArray[Any] = lucene_idf(self.holding, self.documents)
        return result

    def save(self, folder: Path) -> None:
        """Write ``holding.npy`` and ``sizes.json`` into a new folder."""
        folder.mkdir(parents=True)
        np.save(folder / "holding.npy", self.holding)
        write_atomic(folder / "sizes.json", json.dumps({"documents": self.documents, "words": self.words}))

    @classmethod
    def load(cls, folder: Path) -> WordStatistics:
        """Read what :meth:`save` wrote.

        Raises:
            IntegrityError: a file is missing or not readable.
        """
        return cls(load_array(folder / "holding.npy"), **read_json(folder / "sizes.json"))

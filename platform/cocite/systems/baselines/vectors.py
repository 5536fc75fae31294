"""Baselines that rank papers by the nearness of a vector each to the query's; the simplest way to make the query's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Query, Ranking
from cocite.retrieval.dense_search import search_dense
from cocite.systems.baselines.texts import mean_vectors, only_words
from cocite.text.paragraphs import CONTEXT, ParagraphReader, Paragraphs


class VectorBaseline(ABC):
    """Ranks papers by inner product or cosine; a query without a vector (zero) finds nothing, and such a paper is never
    found.

    Args:
        name: what it is called in tables.
        papers: (N, d), one a paper.
        cosine: whether vectors are made as long as 1 first. Vectors trained by negative sampling are longer for papers
            that are cited often, which the inner product rewards and the cosine forgets.
    """

    def __init__(self, name: str, papers: NDArray[np.float32], *, cosine: bool) -> None:
        self.name, self.cosine = name, cosine
        self.papers = unit(papers) if cosine else papers
        self.known = np.asarray(papers.any(axis=1))
        """(N,) whether a paper has a vector."""

    @abstractmethod
    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) vectors of local queries, of any length; zero where there is none."""

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query, never its own nor an excluded one."""
        return search_dense(queries, k, len(self.papers), self._scores)

    def _scores(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        vectors = self.encode(queries)
        vectors = unit(vectors) if self.cosine else vectors
        scores: NDArray[np.float32] = vectors @ self.papers.T
        scores[:, ~self.known] = -np.inf
        scores[~vectors.any(axis=1)] = -np.inf
        for row, query in zip(scores, queries, strict=True):
            row[[paper for paper in (query.paper, *query.exclude) if paper != NO_ROW]] = -np.inf
        return scores


class MeanWords(VectorBaseline):
    """The query is the mean of its context's word vectors (MP-BERT4CR, section 5.3).

    Args:
        name: see :class:`VectorBaseline`.
        reader: numbers words.
        words: (W, d) by those numbers.
        papers: (N, d).
        cosine: see :class:`VectorBaseline`.
    """

    def __init__(
        self,
        name: str,
        reader: ParagraphReader,
        words: NDArray[np.float32],
        papers: NDArray[np.float32],
        *,
        cosine: bool,
    ) -> None:
        super().__init__(name, papers, cosine=cosine)
        self.reader, self.words = reader, words

    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d); zero for a context of unknown words."""
        return mean_vectors(read_contexts(self.reader, queries), self.words)


def read_contexts(reader: ParagraphReader, queries: Sequence[Query]) -> Paragraphs:
    """The known words of each query's context; of a global query, those of its title and abstract."""
    texts = [query.context if query.is_local else f"{query.title} {query.abstract}" for query in queries]
    return only_words(reader.read(pa.array(texts, pa.string()), CONTEXT))


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors (n, d) made as long as 1; zero ones stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)

"""Baselines that rank papers by the similarity of their vectors to the query's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Query, Ranking
from cocite.retrieval.dense_search import search_dense
from cocite.systems.baselines.manuscripts import Manuscripts
from cocite.systems.baselines.texts import joined_pairs, mean_vectors, only_words
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import CONTEXT, Paragraphs


class VectorBaseline(ABC):
    """Ranks papers by inner product or cosine. A paper whose vector is 0 is never ranked, nor any for such a query.

    Args:
        name: of the system, for tables.
        papers: (N, d) vectors.
        cosine: whether vectors are scaled to length 1. Negative sampling makes the vectors of papers longer that are
            cited often, which the inner product rewards and the cosine ignores.

    Example:
        >>> class Fixed(VectorBaseline):
        ...     def encode(self, queries):
        ...         return np.tile(np.array([1.0, 0.0], np.float32), (len(queries), 1))
        >>> baseline = Fixed("fixed", np.array([[1, 1], [0, 0], [9, 1]], np.float32), cosine=True)
        >>> baseline.search([Query("q")], k=3).rows.tolist()  # the second paper has no vector
        [[2, 0, -1]]
    """

    def __init__(self, name: str, papers: NDArray[np.float32], *, cosine: bool) -> None:
        self.name, self.cosine = name, cosine
        self.papers = unit(papers) if cosine else papers
        self.known = np.asarray(papers.any(axis=1))
        """(N,) whether a paper has a vector."""

    @abstractmethod
    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) vectors of local queries, of any length; 0 where there is none."""

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
    """Encodes a query as the mean of its context's word vectors (MP-BERT4CR, section 5.3).

    With ``manuscripts`` the mean is over the words of the context and those of its manuscript's sentences.

    Args:
        name: see :class:`VectorBaseline`.
        reader: numbers words.
        words: (W, d) vectors by those numbers.
        papers: (N, d) vectors.
        cosine: see :class:`VectorBaseline`.
        manuscripts: what else is read of a manuscript; None: nothing.

    Example:
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> from cocite.text.vocabulary import Vocabulary
        >>> reader = ParagraphReader(ParagraphSettings(), Vocabulary(["parsing", "trees"], np.array([9, 4])))
        >>> words = np.eye(reader.size, 2, k=-3, dtype=np.float32)
        >>> baseline = MeanWords("Word2Vec", reader, words, np.eye(3, 2, dtype=np.float32), cosine=False)
        >>> baseline.encode([Query("q", context="parsing trees [CIT]")]).tolist()
        [[0.5, 0.5]]
    """

    def __init__(
        self,
        name: str,
        reader: ParagraphReader,
        words: NDArray[np.float32],
        papers: NDArray[np.float32],
        *,
        cosine: bool,
        manuscripts: Manuscripts | None = None,
    ) -> None:
        super().__init__(name, papers, cosine=cosine)
        self.reader, self.words, self.manuscripts = reader, words, manuscripts

    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) means of word vectors; 0 where all words are unknown."""
        read = read_contexts(self.reader, queries)
        return mean_vectors(with_manuscripts(read, self.reader, queries, self.manuscripts), self.words)


def read_contexts(reader: ParagraphReader, queries: Sequence[Query]) -> Paragraphs:
    """The known words of each query's context; of a global query, those of its title and abstract."""
    texts = [query.context if query.is_local else f"{query.title} {query.abstract}" for query in queries]
    return only_words(reader.read(pa.array(texts, pa.string()), CONTEXT))


def with_manuscripts(
    read: Paragraphs, reader: ParagraphReader, queries: Sequence[Query], manuscripts: Manuscripts | None
) -> Paragraphs:
    """The words read of each query, and behind them those of its manuscript; None: these are not read."""
    return read if manuscripts is None else joined_pairs(read, manuscripts.words(reader, queries))


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors (n, d) scaled to length 1; 0 stays 0.

    Example:
        >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).round(1).tolist()
        [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)

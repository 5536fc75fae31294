"""The vectors of queries, made by an encoder whose vectors of the papers an index holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, BodyReader, Encoder, ManuscriptEncoder, Query, require_finite
from cocite.retrieval.index.search_index import SearchIndex


class QueryVectors:
    """Encodes queries for one encoder's vectors of an index.

    Args:
        index: with the encoder's vectors.
        encoder: makes the queries' vectors.

    Attributes:
        name: the encoder's.

    Raises:
        InputError: the index holds no vectors of this very encoder.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> class Lengths:  # an encoder for the example
        ...     name, id, dimension = "lengths", "1", 1
        ...     def encode_papers(self, corpus, rows):
        ...         return np.ones((len(rows), 1), np.float32)
        ...     def encode_queries(self, queries):
        ...         return np.array([[len(query.title)] for query in queries], np.float32)
        >>> corpus = starter_corpus()
        >>> index = Index.build(corpus, History.all(corpus), encoders=[Lengths()])
        >>> QueryVectors(index, Lengths()).encode([Query("q", title="Parsing")])
        {'lengths': array([[7.]], dtype=float32)}
    """

    def __init__(self, index: SearchIndex, encoder: Encoder) -> None:
        index.check_encoder(encoder)
        self.encoder = encoder.reading(index.corpus) if isinstance(encoder, BodyReader) else encoder
        self.name = encoder.name
        self._papers = index.shards

    def encode(self, queries: Sequence[Query]) -> dict[str, NDArray[np.float32]]:
        """(Q, d) vectors of queries of one kind, local or global, by the name of the signal they give.

        That is the encoder's name, and ``<name>:manuscript`` too for local queries of an encoder that reads a
        manuscript otherwise than a context.
        """
        if not (isinstance(self.encoder, ManuscriptEncoder) and queries):
            return {self.name: self.encode_texts(queries)}
        if not queries[0].is_local and getattr(self.encoder, "reads_queries_as_papers", False):
            return {self.name: self._encode_manuscripts(self.encoder, queries)}
        result = {self.name: self.encode_texts(queries)}
        if queries[0].is_local:
            result[f"{self.name}:manuscript"] = self._encode_manuscripts(self.encoder, queries)
        return result

    def encode_texts(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) vectors of queries.

        Raises:
            IntegrityError: a component is not finite.
        """
        vectors = self.encoder.encode_queries(queries)
        require_finite(vectors, self.name, "vectors of queries")
        return vectors

    def _encode_manuscripts(
        self, encoder: ManuscriptEncoder, queries: Sequence[Query]
    ) -> NDArray[np.float32]:
        """(Q, d) vectors of the queries' manuscripts: the index' own, or else encoded, each once."""
        papers = np.array([query.paper for query in queries])
        known = papers != NO_ROW
        result = np.zeros((len(queries), encoder.dimension), np.float32)
        result[known] = self._papers.paper_vectors(self.name, papers[known])
        texts = [(query.title, query.abstract) for query in queries]
        unknown = {text: query for text, query in zip(texts, queries, strict=True) if query.paper == NO_ROW}
        if unknown:
            encoded = dict(zip(unknown, encoder.encode_manuscripts(list(unknown.values())), strict=True))
            for i, query in enumerate(queries):
                if query.paper == NO_ROW:
                    result[i] = encoded[texts[i]]
        require_finite(result, self.name, "vectors of manuscripts")
        return result

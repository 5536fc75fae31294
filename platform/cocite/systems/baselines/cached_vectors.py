"""A cache on disk of an encoder's vectors of all papers of a corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import load_array, publish
from cocite.corpus.store import Corpus
from cocite.errors import CociteError
from cocite.protocols import BodyReader, Encoder, Query
from cocite.retrieval.index.documents import encode
from cocite.systems.baselines.vectors import VectorBaseline
from cocite.verification import open_verified

KIND = "paper-vectors"


def cached_vectors(
    encoder: Encoder, corpus: Corpus, cache: Path, *, advance: Callable[[int], None] | None = None
) -> NDArray[np.float32]:
    """(N, d) vectors of all papers, read from the cache or encoded and written to it.

    Args:
        encoder: encodes the papers.
        corpus: the papers.
        cache: folder for the vectors of any number of encoders and corpora.
        advance: called with the number of papers of each encoded batch.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> class Lengths:
        ...     name, id, dimension = "lengths", "v1", 1
        ...     def encode_papers(self, corpus, rows):
        ...         return np.ones((len(rows), 1), np.float32)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     vectors = cached_vectors(Lengths(), starter_corpus(), Path(folder))
        >>> vectors.shape == (len(starter_corpus()), 1)
        True
    """
    identity = f"{encoder.name}\n{encoder.id}\n{corpus.version}"
    folder = cache / f"vectors-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    try:
        open_verified(folder, kind=KIND)
        vectors = load_array(folder / "vectors.npy")
        if vectors.shape == (len(corpus), encoder.dimension):
            return vectors
    except CociteError:
        pass  # missing or damaged: the vectors are computed again
    vectors = encode(corpus, encoder, advance=advance)
    meta = {"encoder": encoder.name, "id": encoder.id, "corpus": corpus.version}
    with publish(folder, kind=KIND, meta=meta, replace=True) as temporary:
        np.save(temporary / "vectors.npy", vectors)
    return vectors


class EncoderBaseline(VectorBaseline):
    """Ranks papers by the cosine of an encoder's vectors.

    Args:
        name: of the system, for tables.
        encoder: encodes the queries.
        corpus: where an encoder that reads manuscripts' bodies finds them.
        papers: (N, d) its vectors of the papers.

    Example:
        >>> class Constant:
        ...     name, id, dimension = "constant", "v1", 2
        ...     def encode_queries(self, queries):
        ...         return np.tile(np.array([0.0, 1.0], np.float32), (len(queries), 1))
        >>> papers = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
        >>> EncoderBaseline("constant", Constant(), None, papers).search([Query("q")], k=2).rows.tolist()
        [[1, 0]]
    """

    def __init__(self, name: str, encoder: Encoder, corpus: Corpus, papers: NDArray[np.float32]) -> None:
        super().__init__(name, papers, cosine=True)
        self.encoder = encoder.reading(corpus) if isinstance(encoder, BodyReader) else encoder

    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) the encoder's vectors of the queries."""
        return self.encoder.encode_queries(queries)

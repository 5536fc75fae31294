"""Vectors of all papers, encoded once and kept on disk: by encoder and corpus."""

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


def kept_vectors(
    encoder: Encoder, corpus: Corpus, cache: Path, *, advance: Callable[[int], None] | None = None
) -> NDArray[np.float32]:
    """(N, d) vectors of all papers: those that the cache keeps of this encoder and corpus, or made now.

    Args:
        encoder: brings the vectors.
        corpus: the papers.
        cache: folder of any number of such vectors.
        advance: told how many papers are done.
    """
    told = f"{encoder.name}\n{encoder.id}\n{corpus.version}"
    place = cache / f"vectors-{hashlib.sha256(told.encode()).hexdigest()[:16]}"
    try:
        open_verified(place, kind=KIND)
        found = load_array(place / "vectors.npy")
        if found.shape == (len(corpus), encoder.dimension):
            return found
    except CociteError:
        pass
    vectors = encode(corpus, encoder, advance=advance)
    meta = {"encoder": encoder.name, "id": encoder.id, "corpus": corpus.version}
    with publish(place, kind=KIND, meta=meta, replace=True) as temporary:
        np.save(temporary / "vectors.npy", vectors)
    return vectors


class EncoderBaseline(VectorBaseline):
    """An encoder's queries against its papers.

    Args:
        name: what it is called in tables.
        encoder: of the queries.
        corpus: what an encoder reads that asks for a manuscript's body.
        papers: (N, d) its vectors of the papers.
    """

    def __init__(self, name: str, encoder: Encoder, corpus: Corpus, papers: NDArray[np.float32]) -> None:
        super().__init__(name, papers, cosine=True)
        self.encoder = encoder.reading(corpus) if isinstance(encoder, BodyReader) else encoder

    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d)."""
        return self.encoder.encode_queries(queries)

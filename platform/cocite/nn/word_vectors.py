"""Word vectors to begin with: from a file, or trained on the bodies of the training period's papers."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from cocite.bounds import Location
from cocite.corpus.history import History
from cocite.nn.pretrained_vectors import read_vectors
from cocite.nn.word2vec import Word2VecSettings, kept
from cocite.nn.word2vec import word2vec as train
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import CONTEXT, SPECIAL
from cocite.text.word_counts import body_sentences

KIND = "word-vectors"
"""Artifact of a model folder that keeps trained vectors."""
LINES = 20_000
"""Sentences read at a time."""


class WordVectorSettings(Word2VecSettings):
    """Where word vectors come from, and whether they stay."""

    source: Literal["corpus", "file", "random"] = "corpus"
    """``corpus``: word2vec over the body sentences of the training period's papers. ``file``: of ``path``.
    ``random``: drawn."""
    path: Location | None = None
    """Text file in GloVe's or word2vec's format (``source: file``)."""
    trained: bool = True
    """Whether training moves them; in the paper they stay."""

    @model_validator(mode="after")
    def _whole(self) -> WordVectorSettings:
        if (self.source == "file") != (self.path is not None):
            raise ValueError("source: file and path go together")
        return self


def initial_vectors(
    settings: WordVectorSettings,
    history: History,
    reader: ParagraphReader,
    dimension: int,
    folder: Path,
    *,
    seed: int = 0,
) -> NDArray[np.float32]:
    """(W, d) vectors of all word numbers of a reader, each component of variance 1 over the words that have one.

    Words without a vector, and the marks, are drawn from a normal distribution.

    Args:
        settings: where from.
        history: whose papers may be read.
        reader: numbers the words.
        dimension: d.
        folder: a model folder, which keeps vectors trained on the corpus.
        seed: of what is drawn and trained.
    """
    drawn = np.random.default_rng(seed).normal(size=(reader.size, dimension)).astype(np.float32)
    if settings.source == "random":
        return drawn
    if settings.source == "file":
        found, vectors = read_vectors(str(settings.path), reader.vocabulary, dimension)
    else:
        vectors = _trained(settings, history, reader, dimension, folder, seed)
        found = np.asarray(vectors.any(axis=1))
    numbers = SPECIAL + np.flatnonzero(found)
    drawn[numbers] = vectors[found] / vectors[found].std()
    return drawn


def _trained(
    settings: WordVectorSettings,
    history: History,
    reader: ParagraphReader,
    dimension: int,
    folder: Path,
    seed: int,
) -> NDArray[np.float32]:
    """(V, d) vectors of the vocabulary, zero for a word without one: those that the folder keeps, or made now."""
    corpus = history.corpus
    told = {
        "corpus": corpus.version,
        "papers": hashlib.sha256(np.packbits(history.citing).tobytes()).hexdigest(),
        "words": hashlib.sha256("\n".join(reader.vocabulary.types).encode()).hexdigest(),
        "reader": reader.settings.model_dump(mode="json"),
        "settings": settings.model_dump(mode="json"),
        "dimension": dimension,
        "seed": seed,
    }
    return kept(folder, KIND, told, lambda: word2vec(settings, history, reader, dimension, seed=seed))


def word2vec(
    settings: WordVectorSettings, history: History, reader: ParagraphReader, dimension: int, *, seed: int = 0
) -> NDArray[np.float32]:
    """(V, d) vectors of a reader's words, zero for one not seen."""
    names = np.array([str(i) for i in range(reader.size)], object)

    def sentences() -> Iterator[list[str]]:
        for chunk in body_sentences(history):
            for start in range(0, len(chunk), LINES):
                read = reader.read(chunk.slice(start, LINES), CONTEXT)
                words = names[read.tokens].tolist()
                bounds = read.indptr.tolist()
                yield [" ".join(words[a:b]) for a, b in itertools.pairwise(bounds) if b - a > 1]

    vectors = train(settings, sentences(), reader.size, dimension, seed=seed)
    return np.ascontiguousarray(vectors[SPECIAL : SPECIAL + len(reader.vocabulary)])

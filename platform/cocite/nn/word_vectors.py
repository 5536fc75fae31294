"""Initial word vectors: random, from a file, or trained on the bodies of the training period's papers."""

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
from cocite.nn.word2vec import Word2VecSettings, cached_vectors, train_word2vec
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import CONTEXT, SPECIAL
from cocite.text.word_counts import body_sentences

KIND = "word-vectors"
"""Kind of the artifact that keeps trained vectors, and its name in a model folder."""
LINES = 20_000
"""Sentences read at a time."""


class WordVectorSettings(Word2VecSettings):
    """Source of the initial word vectors, and whether training changes them.

    Example:
        >>> WordVectorSettings(source="file", path="glove.txt").trained
        True
        >>> WordVectorSettings.parse({"path": "glove.txt"})
        Traceback (most recent call last):
        cocite.errors.ConfigError: source: file and path go together
    """

    source: Literal["corpus", "file", "random"] = "corpus"
    """``corpus``: word2vec over the body sentences of the training period's papers. ``file``: read from ``path``.
    ``random``: normally distributed."""
    path: Location | None = None
    """Text file in GloVe's or word2vec's format (``source: file``)."""
    trained: bool = True
    """Whether training changes them; in the paper it does not."""

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
    """(W, d) vectors of all word numbers of a reader, with components of variance 1 over the words that have a vector.

    Words without a vector, and the marks, get vectors from a normal distribution.

    Args:
        settings: the source.
        history: whose papers are read.
        reader: numbers the words.
        dimension: d.
        folder: a model folder, which keeps vectors trained on the corpus.
        seed: of random and trained vectors.

    Raises:
        InputError: the corpus has no body sentences, gensim is not installed, or the file has no vectors of the words.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> history = History.all(starter_corpus())
        >>> reader = ParagraphReader.build(history, ParagraphSettings(), bodies=False)
        >>> settings = WordVectorSettings(source="random")
        >>> vectors = initial_vectors(settings, history, reader, 50, Path("model"))
        >>> vectors.shape == (reader.size, 50), round(float(vectors.std()), 2)
        (True, 1.0)
    """
    drawn = np.random.default_rng(seed).normal(size=(reader.size, dimension)).astype(np.float32)
    if settings.source == "random":
        return drawn
    if settings.source == "file":
        has_vector, vectors = read_vectors(str(settings.path), reader.vocabulary, dimension)
    else:
        vectors = _trained(settings, history, reader, dimension, folder, seed)
        has_vector = np.asarray(vectors.any(axis=1))
    numbers = SPECIAL + np.flatnonzero(has_vector)
    drawn[numbers] = vectors[has_vector] / vectors[has_vector].std()
    return drawn


def _trained(
    settings: WordVectorSettings,
    history: History,
    reader: ParagraphReader,
    dimension: int,
    folder: Path,
    seed: int,
) -> NDArray[np.float32]:
    """(V, d) vectors of the vocabulary, zero for a word without one: those that the folder keeps, else trained now."""
    corpus = history.corpus
    inputs = {
        "corpus": corpus.version,
        "papers": hashlib.sha256(np.packbits(history.citing).tobytes()).hexdigest(),
        "words": hashlib.sha256("\n".join(reader.vocabulary.types).encode()).hexdigest(),
        "reader": reader.settings.model_dump(mode="json"),
        "settings": settings.model_dump(mode="json"),
        "dimension": dimension,
        "seed": seed,
    }
    return cached_vectors(
        folder, KIND, inputs, lambda: train_word_vectors(settings, history, reader, dimension, seed=seed)
    )


def train_word_vectors(
    settings: WordVectorSettings, history: History, reader: ParagraphReader, dimension: int, *, seed: int = 0
) -> NDArray[np.float32]:
    """(V, d) word2vec vectors of a reader's words, zero for a word that no body sentence has."""
    names = np.array([str(i) for i in range(reader.size)], object)

    def sentences() -> Iterator[list[str]]:
        for chunk in body_sentences(history):
            for start in range(0, len(chunk), LINES):
                paragraphs = reader.read(chunk.slice(start, LINES), CONTEXT)
                words = names[paragraphs.tokens].tolist()
                bounds = paragraphs.indptr.tolist()
                yield [" ".join(words[a:b]) for a, b in itertools.pairwise(bounds) if b - a > 1]

    vectors = train_word2vec(settings, sentences(), reader.size, dimension, seed=seed)
    return np.ascontiguousarray(vectors[SPECIAL : SPECIAL + len(reader.vocabulary)])

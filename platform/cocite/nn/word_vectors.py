"""Initial word vectors: random, from a file, or trained on the bodies of the training period's papers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from cocite.bounds import Location
from cocite.corpus.history import History
from cocite.nn.pretrained_vectors import read_vectors
from cocite.nn.word2vec import Word2VecSettings, train_word2vec
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import CONTEXT, SPECIAL
from cocite.text.word_counts import body_sentences

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
    rescaled: bool = True
    """Whether all are divided by the standard deviation of their components, as a layer's inputs usually are; the paper
    reads GloVe's vectors as they are."""

    @model_validator(mode="after")
    def _whole(self) -> WordVectorSettings:
        if (self.source == "file") != (self.path is not None):
            raise ValueError("source: file and path go together")
        return self


def known_vectors(
    settings: WordVectorSettings, history: History, reader: ParagraphReader, dimension: int, *, seed: int = 0
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """The vectors that a file or the corpus gives a vocabulary's words.

    Args:
        settings: the source: ``file`` or ``corpus``.
        history: whose papers are read.
        reader: numbers the words.
        dimension: d.
        seed: of trained vectors.

    Returns:
        (V,) whether a word has a vector; (V, d) the vectors, zero where it has none.

    Raises:
        NotFoundError: there is no such file.
        InputError: the corpus has no body sentences, gensim is not installed, or the file has no vectors of the words.
    """
    if settings.source == "file":
        return read_vectors(str(settings.path), reader.vocabulary, dimension)
    vectors = train_word_vectors(settings, history, reader, dimension, seed=seed)
    return np.asarray(vectors.any(axis=1)), vectors


def mixed_vectors(
    reader: ParagraphReader,
    dimension: int,
    known: tuple[NDArray[np.bool_], NDArray[np.float32]] | None,
    *,
    seed: int = 0,
    rescaled: bool = True,
) -> NDArray[np.float32]:
    """(W, d) vectors of all word numbers of a reader.

    Words without a vector, and the marks, get vectors from a normal distribution of the others' standard deviation.

    Args:
        reader: numbers the words.
        dimension: d.
        known: from :func:`known_vectors`; None: no word has a vector.
        seed: of the random vectors.
        rescaled: whether components get the variance 1 over the words that have a vector.

    Example:
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> from cocite.text.vocabulary import Vocabulary
        >>> reader = ParagraphReader(ParagraphSettings(), Vocabulary(["tree", "graph"], np.array([9, 4])))
        >>> known = np.array([True, False]), np.array([[3.0, -3.0], [0.0, 0.0]], np.float32)
        >>> mixed_vectors(reader, 2, known)[SPECIAL].tolist()
        [1.0, -1.0]
        >>> mixed_vectors(reader, 2, known, rescaled=False)[SPECIAL].tolist()
        [3.0, -3.0]
    """
    drawn = np.random.default_rng(seed).normal(size=(reader.size, dimension)).astype(np.float32)
    if known is not None:
        has_vector, vectors = known
        chosen = vectors[has_vector]
        if not rescaled:
            drawn *= chosen.std()
        drawn[SPECIAL + np.flatnonzero(has_vector)] = chosen / chosen.std() if rescaled else chosen
    return drawn


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

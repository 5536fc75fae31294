"""Initial word vectors of a hierarchical model: random, or word2vec over the corpus; and their weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.nn.word2vec import Word2VecSettings, cached_vectors, train_word2vec
from cocite.text.sentence_texts import SentenceTexts
from cocite.text.token_lists import TokenLists

KIND = "token-vectors"
"""Kind of the artifact that keeps trained vectors, and its name in a model folder."""
LINES = 50_000
"""Sentences read at a time."""


class TokenVectorSettings(Word2VecSettings):
    """Source of the initial vectors of word pieces.

    Example:
        >>> TokenVectorSettings(source="corpus", epochs=5).trained
        True
    """

    source: Literal["random", "corpus"] = "random"
    """``random``: a function of the seed, as in the paper. ``corpus``: word2vec over the sentences of the training
    period's papers, mixed with as much of a random vector, which distinguishes words of like meaning."""
    idf: bool = False
    """Whether their norms are inverse document frequencies (with ``model.norm: pre`` a word's norm is its weight in its
    sentence)."""
    trained: bool = True
    """Whether training changes them. Layers that are pretrained with fixed vectors fit the same vectors later."""


def token_vectors(
    settings: TokenVectorSettings, history: History, texts: SentenceTexts, dimension: int, folder: Path
) -> NDArray[np.float32]:
    """(V, d) unit vectors of the word pieces, trained on the corpus; zero for one that no sentence has.

    They are a function of texts and settings alone, not of a training's seed. The model folder keeps them.

    Args:
        settings: how to train.
        history: whose papers are read.
        texts: of the corpus.
        dimension: d.
        folder: the model folder.

    Raises:
        InputError: there is no sentence, or gensim is not installed.
    """
    inputs = {
        "corpus": history.corpus.version,
        "papers": hashlib.sha256(np.packbits(history.citing).tobytes()).hexdigest(),
        "vocabulary": hashlib.sha256(texts.tokenizer.backend_tokenizer.to_str().encode()).hexdigest(),
        "settings": settings.model_dump(mode="json", include={"epochs", "window"}),
        "dimension": dimension,
    }
    count = len(texts.tokenizer)
    vectors = cached_vectors(
        folder, KIND, inputs, lambda: train_word2vec(settings, _lines(history, texts), count, dimension)
    )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)


def _lines(history: History, texts: SentenceTexts) -> Iterator[list[str]]:
    """The sentences of a history's papers without their end tokens, as numbers with spaces between them."""
    names = np.array([str(i) for i in range(len(texts.tokenizer))], object)
    for sentences, indptr in (
        (texts.bodies, texts.body_indptr),
        (texts.abstracts, texts.abstract_indptr),
    ):
        known = np.flatnonzero(np.repeat(history.citing, np.diff(indptr)))
        for start in range(0, len(known), LINES):
            yield _joined(sentences.take(known[start : start + LINES]), names)


def _joined(sentences: TokenLists, names: NDArray[np.object_]) -> list[str]:
    begins, ends = sentences.starts, sentences.starts + sentences.counts - 1
    long = np.flatnonzero(sentences.counts > 2)  # the end token, and two that can predict each other
    return [
        " ".join(names[sentences.ids[begin:end]].tolist())
        for begin, end in zip(begins[long].tolist(), ends[long].tolist(), strict=True)
    ]


def inverse_document_frequency(texts: SentenceTexts) -> NDArray[np.float32]:
    """(V,) log((N + 1) / (n + 1)) of each token that n of N abstracts have, divided by the mean over all tokens."""
    abstracts = TokenLists.joined([texts.abstracts])
    paper = np.repeat(np.arange(len(texts)), np.diff(texts.abstract_indptr))
    owner = np.repeat(paper, abstracts.counts)
    words = len(texts.tokenizer)
    tokens = np.unique(owner * words + abstracts.ids) % words
    weights = np.log((len(texts) + 1) / (np.bincount(tokens, minlength=words) + 1))
    mean = weights[abstracts.ids].mean() if len(abstracts.ids) else 1.0
    return np.asarray(weights / max(float(mean), 1e-6), np.float32)

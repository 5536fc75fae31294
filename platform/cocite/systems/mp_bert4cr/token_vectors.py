"""Initial word vectors of a hierarchical model: random, or word2vec over the corpus.

Those of the corpus are an artifact of the model folder, made once and memory-mapped by all workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import require_fit
from cocite.artifacts import load_array
from cocite.bounds import Dimension
from cocite.config import Settings
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.nn.word2vec import Word2VecSettings, train_word2vec
from cocite.systems.mp_bert4cr.sentence_texts import SentenceTextSettings, load_from_model_folder
from cocite.text.sentence_texts import SentenceTexts
from cocite.text.token_lists import TokenLists
from cocite.training.input_artifacts import (
    Advance,
    Stage,
    component_digests,
    find_input,
    make_input,
    open_input,
)
from cocite.training.periods import Periods

KIND = "token-vectors"
"""Kind of the artifact, and its name in a model folder."""
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


class InitialTokenVectorSettings(Settings):
    """What determines the vectors of the word pieces, besides the corpus.

    Example:
        >>> InitialTokenVectorSettings(dimension=192).words.window
        8
    """

    texts: SentenceTextSettings = SentenceTextSettings()
    """Whose vocabulary it is, and whose sentences are read."""
    words: Word2VecSettings = Word2VecSettings()
    dimension: Dimension = 200
    """d."""

    @classmethod
    def of(
        cls, texts: SentenceTextSettings, words: TokenVectorSettings, dimension: int
    ) -> InitialTokenVectorSettings | None:
        """The settings of a recipe; None where its vectors are random."""
        if words.source == "random":
            return None
        how = Word2VecSettings(epochs=words.epochs, window=words.window)
        return cls(texts=texts, words=how, dimension=dimension)


def prepare(
    settings: InitialTokenVectorSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,  # noqa: ARG001  (gensim does not say how far it is)
) -> bool:
    """Train unit vectors of the word pieces, zero for one that no sentence has, unless the folder already has them.

    They are a function of texts and settings alone, not of a training's seed.

    Args:
        settings: how to train.
        corpus: the papers.
        folder: the artifact's folder, beside which that of the sentences lies.
        stage: is called with the name of the step as it begins.
        advance: is not called.

    Returns:
        Whether they were made.

    Raises:
        NotFoundError: the sentences are not there.
        InputError: there is no sentence, or gensim is not installed.
    """

    def write(to: Path) -> None:
        stage("word vectors", 0)
        texts = load_from_model_folder(folder.parent, corpus)
        history = Periods.of(corpus, settings.texts.period).history
        count = len(texts.tokenizer)
        vectors = train_word2vec(settings.words, _lines(history, texts), count, settings.dimension)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.save(to / "vectors.npy", vectors / np.where(norms > 0, norms, 1), allow_pickle=False)

    # Of the trunk whose vocabulary the sentences have.
    more = component_digests(settings.texts, folder.parent)
    return make_input(KIND, settings, corpus, folder, write, more=more)


def token_vectors(
    model_folder: Path, corpus: Corpus, settings: InitialTokenVectorSettings, vocabulary: int
) -> NDArray[np.float32]:
    """(V, d) the vectors that a model folder keeps, memory-mapped.

    Args:
        model_folder: keeps them.
        corpus: that is trained on.
        settings: of the vectors.
        vocabulary: V.

    Raises:
        NotFoundError: the folder keeps none.
        InputError: they were made of another corpus, or with other settings.
        IntegrityError: they are not those of the vocabulary.
    """
    folder = find_input(model_folder, KIND, lacking="word vectors to train on")
    open_input(folder, KIND, corpus, what="word vectors", settings=settings)
    vectors: NDArray[np.float32] = load_array(folder / "vectors.npy")
    require_fit(vectors.shape == (vocabulary, settings.dimension), folder, to="the vocabulary")
    return vectors


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

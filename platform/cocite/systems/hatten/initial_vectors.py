"""HAtten's initial word vectors as an artifact of the model folder: made once, so that all workers begin alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import load_array, publish
from cocite.bounds import Dimension, FileState, Seed
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.manifests import holds
from cocite.nn.word_vectors import WordVectorSettings, known_vectors, mixed_vectors
from cocite.systems.hatten import texts
from cocite.systems.hatten.texts import HattenTextSettings
from cocite.text.paragraph_reader import ParagraphReader
from cocite.training.input_artifacts import check_same_inputs, find_input
from cocite.training.periods import Periods
from cocite.verification import open_verified_once

KIND = "word-vectors"
"""Kind of the artifact, and its name in a model folder."""
FILE = "file"
"""The setting that workers do not compare: they need not see the text file."""


class InitialVectorSettings(Settings):
    """What determines the initial vectors of the vocabulary's words, besides the corpus.

    Example:
        >>> InitialVectorSettings(words=WordVectorSettings(epochs=5), dimension=100).words.window
        8
    """

    texts: HattenTextSettings = HattenTextSettings()
    """Whose vocabulary it is."""
    words: WordVectorSettings = WordVectorSettings()
    """The source: the corpus or a file."""
    dimension: Dimension = 200
    """d."""
    seed: Seed = 0
    """Of vectors that are trained."""
    file: tuple[FileState, FileState] | None = None
    """Bytes and time of change (ns) of the text file, where the vectors come from one."""

    @classmethod
    def of(
        cls, texts: HattenTextSettings, words: WordVectorSettings, dimension: int, seed: int
    ) -> InitialVectorSettings | None:
        """The settings of a recipe; None where it draws all vectors at random."""
        if words.source == "random":
            return None
        state = None
        if words.path is not None and (path := Path(words.path)).is_file():
            state = (path.stat().st_size, path.stat().st_mtime_ns)
        # Whether training changes them changes nothing about how they begin.
        words = words.model_copy(update={"trained": True})
        return cls(texts=texts, words=words, dimension=dimension, seed=seed, file=state)


def prepare(
    settings: InitialVectorSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Callable[[str, int], object] = lambda *_: None,
    advance: Callable[[int], object] = lambda _: None,  # noqa: ARG001  (gensim does not say how far it is)
) -> bool:
    """Make the vectors, unless the folder already has those of this corpus and these settings.

    Args:
        settings: the source.
        corpus: the papers.
        folder: the artifact's folder, beside which that of the texts lies.
        stage: is called with the name of the step as it begins.
        advance: is not called.

    Returns:
        Whether they were made.

    Raises:
        NotFoundError: the texts are not there, or the file of vectors is not.
        InputError: the corpus has no body sentences, gensim is not installed, or the file has no vectors of the words.
    """
    meta: dict[str, Any] = {"corpus": corpus.version, "settings": settings.model_dump(mode="json")}
    if holds(folder, kind=KIND, meta=meta):
        return False
    stage("word vectors", 0)
    reader = texts.load(folder.parent, corpus, settings.texts).reader
    history = Periods.of(corpus, settings.texts.period, all_dev=True).history
    has_vector, vectors = known_vectors(
        settings.words, history, reader, settings.dimension, seed=settings.seed
    )
    with publish(folder, kind=KIND, meta=meta, replace=folder.exists()) as temporary:
        np.save(temporary / "vectors.npy", vectors, allow_pickle=False)
        np.save(temporary / "known.npy", has_vector, allow_pickle=False)
    return True


def initial_vectors(
    model_folder: Path,
    corpus: Corpus,
    settings: InitialVectorSettings | None,
    reader: ParagraphReader,
    dimension: int,
    *,
    seed: int,
) -> NDArray[np.float32]:
    """(W, d) vectors of all word numbers of a reader: those that a model folder keeps, the others random.

    Args:
        model_folder: keeps them.
        corpus: that is trained on.
        settings: of the vectors; None: all are random.
        reader: numbers the words.
        dimension: d.
        seed: of the random ones.

    Raises:
        NotFoundError: the folder keeps none.
        InputError: they were made of another corpus, or with other settings.
        IntegrityError: they are not those of the reader's words.
    """
    if settings is None:
        return mixed_vectors(reader, dimension, None, seed=seed)
    folder = find_input(model_folder, KIND, lacking="word vectors to train on")
    manifest = open_verified_once(folder, kind=KIND)
    check_same_inputs(manifest, corpus, settings, folder, what="word vectors", besides=(FILE,))
    vectors, has_vector = load_array(folder / "vectors.npy"), load_array(folder / "known.npy")
    if vectors.shape != (len(reader.vocabulary), dimension) or len(has_vector) != len(vectors):
        raise IntegrityError("the arrays do not fit the vocabulary", where=str(folder), hint="make them anew")
    return mixed_vectors(reader, dimension, (has_vector, vectors), seed=seed)

"""HAtten's initial word vectors as an artifact of the model folder: made once, so that all workers begin alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import require_fit
from cocite.artifacts import load_array
from cocite.bounds import Dimension, FileState, Seed
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.nn.word_vectors import WordVectorSettings, known_vectors, mixed_vectors
from cocite.systems.hatten import texts
from cocite.systems.hatten.texts import HattenTextSettings
from cocite.text.paragraph_reader import ParagraphReader
from cocite.training.input_artifacts import Advance, Stage, find_input, make_input, open_input
from cocite.training.periods import Periods

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
        # Neither whether training changes them, nor how a worker scales them, changes what is kept.
        words = words.model_copy(update={"trained": True, "rescaled": True})
        return cls(texts=texts, words=words, dimension=dimension, seed=seed, file=state)


def prepare(
    settings: InitialVectorSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,  # noqa: ARG001  (gensim does not say how far it is)
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

    def write(to: Path) -> None:
        stage("word vectors", 0)
        reader = texts.load(folder.parent, corpus, settings.texts).reader
        history = Periods.of(corpus, settings.texts.period, all_dev=True).history
        has_vector, vectors = known_vectors(
            settings.words, history, reader, settings.dimension, seed=settings.seed
        )
        np.save(to / "vectors.npy", vectors, allow_pickle=False)
        np.save(to / "known.npy", has_vector, allow_pickle=False)

    return make_input(KIND, settings, corpus, folder, write)


def initial_vectors(
    model_folder: Path,
    corpus: Corpus,
    settings: InitialVectorSettings | None,
    reader: ParagraphReader,
    dimension: int,
    *,
    seed: int,
    rescaled: bool = True,
) -> NDArray[np.float32]:
    """(W, d) vectors of all word numbers of a reader: those that a model folder keeps, the others random.

    Args:
        model_folder: keeps them.
        corpus: that is trained on.
        settings: of the vectors; None: all are random.
        reader: numbers the words.
        dimension: d.
        seed: of the random ones.
        rescaled: whether those that it keeps are scaled to a variance of 1.

    Raises:
        NotFoundError: the folder keeps none.
        InputError: they were made of another corpus, or with other settings.
        IntegrityError: they are not those of the reader's words.
    """
    if settings is None:
        return mixed_vectors(reader, dimension, None, seed=seed)
    folder = find_input(model_folder, KIND, lacking="word vectors to train on")
    open_input(folder, KIND, corpus, what="word vectors", settings=settings, besides=(FILE,))
    vectors, has_vector = load_array(folder / "vectors.npy"), load_array(folder / "known.npy")
    fits = vectors.shape == (len(reader.vocabulary), dimension) and len(has_vector) == len(vectors)
    require_fit(fits, folder, to="the vocabulary")
    return mixed_vectors(reader, dimension, (has_vector, vectors), seed=seed, rescaled=rescaled)

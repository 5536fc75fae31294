"""Word vectors trained on a corpus."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.bounds import Epochs, PositiveSmallCount
from cocite.config import Settings
from cocite.errors import InputError, IntegrityError
from cocite.write_errors import writing_to


class Word2VecSettings(Settings):
    """How vectors are trained on a corpus.

    Example:
        >>> Word2VecSettings(epochs=5).window
        8
    """

    epochs: Epochs = 3
    """Passes over the sentences (``source: corpus``)."""
    window: PositiveSmallCount = 8
    """Words on each side that a word is predicted from (``source: corpus``)."""


def train_word2vec(
    settings: Word2VecSettings, sentences: Iterable[list[str]], words: int, dimension: int, *, seed: int = 0
) -> NDArray[np.float32]:
    """(W, d) continuous bag-of-words vectors (Mikolov et al. 2013), zero for a word that no sentence has.

    With several threads the vectors differ from run to run.

    Args:
        settings: how to train.
        sentences: blocks of lines, each line a sentence of word numbers separated by spaces.
        words: W.
        dimension: d.
        seed: of the random numbers.

    Raises:
        InputError: there is no sentence, or gensim is not installed.
        IntegrityError: training diverged.
    """
    import torch

    try:
        gensim: Any = importlib.import_module("gensim.models")
    except ImportError as error:
        raise InputError(
            "training word vectors on the corpus needs gensim",
            hint="pip install gensim, or set words.source to something else",
        ) from error
    with (
        writing_to(tempfile.gettempdir()),
        tempfile.NamedTemporaryFile("w", encoding="ascii", suffix=".txt") as file,
    ):
        for lines in sentences:
            file.writelines(f"{line}\n" for line in lines)
        file.flush()
        if not Path(file.name).stat().st_size:
            raise InputError(
                "no paper of the training period has body sentences",
                where="words",
                hint="set words.source to something else than corpus",
            )
        model = gensim.Word2Vec(
            # gensim's threads read a file without the interpreter's lock; an iterator would be read by one of them.
            corpus_file=file.name,
            vector_size=dimension,
            window=settings.window,
            epochs=settings.epochs,
            min_count=1,
            sample=1e-4,
            negative=5,
            workers=torch.get_num_threads(),
            seed=seed + 1,
        )
    vectors = np.zeros((words, dimension), np.float32)
    vectors[np.array(model.wv.index_to_key, np.int64)] = model.wv.vectors
    if not np.isfinite(vectors).all():
        raise IntegrityError("word2vec made vectors that are no numbers", where="words")
    return vectors

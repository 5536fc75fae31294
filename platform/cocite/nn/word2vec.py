"""Word vectors trained on a corpus and kept in a model folder: all workers and a resumed training use the same ones."""

from __future__ import annotations

import hashlib
import importlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from cocite.artifacts import publish
from cocite.bounds import Epochs, PositiveSmallCount
from cocite.config import Settings
from cocite.errors import CociteError, InputError, IntegrityError
from cocite.locks import locked
from cocite.manifests import holds
from cocite.verification import open_verified
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


def cached_vectors(
    folder: Path, kind: str, inputs: Mapping[str, Any], make: Callable[[], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """The vectors that a model folder keeps for these inputs; where it has none, they are made and kept.

    Args:
        folder: a model folder.
        kind: of the artifact, and its name in the folder.
        inputs: everything that the vectors are a function of, as JSON values.
        make: makes the vectors.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first = cached_vectors(Path(folder), "vectors", {"seed": 1}, lambda: np.ones((1, 2), np.float32))
        ...     again = cached_vectors(Path(folder), "vectors", {"seed": 1}, lambda: np.zeros((1, 2), np.float32))
        >>> again  # those of the first call
        array([[1., 1.]], dtype=float32)
    """
    fingerprint = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]
    artifact = folder / kind
    # Workers that share the folder wait for the vectors of the one that has the lock.
    with locked(folder / f".{kind}.lock", wait=True):
        if holds(artifact, kind=kind, meta={"of": fingerprint}):
            try:
                open_verified(artifact, kind=kind)
                vectors: NDArray[np.float32] = load_file(artifact / "vectors.safetensors")["vectors"]
            except (CociteError, OSError, SafetensorError, KeyError):
                pass  # the artifact is damaged: make it again
            else:
                return vectors
        vectors = make()
        with publish(artifact, kind=kind, meta={"of": fingerprint}, replace=True) as temporary:
            save_file({"vectors": vectors}, temporary / "vectors.safetensors")
    return vectors

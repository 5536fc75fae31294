"""Word vectors trained on a corpus, and kept: all workers, and a resumed training, begin with the same."""

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
    """How vectors are trained on a corpus."""

    epochs: Epochs = 3
    """Passes over the sentences (``source: corpus``)."""
    window: PositiveSmallCount = 8
    """Words either side that a word is predicted from (``source: corpus``)."""


def word2vec(
    settings: Word2VecSettings, sentences: Iterable[list[str]], words: int, dimension: int, *, seed: int = 0
) -> NDArray[np.float32]:
    """(W, d) continuous bag-of-words vectors (Mikolov et al. 2013), zero for a word that is nowhere.

    With several threads the vectors are not the same from run to run.

    Args:
        settings: how to train.
        sentences: some lines at a time, each a sentence of word numbers with a space between.
        words: W.
        dimension: d.
        seed: what is drawn hangs on it.

    Raises:
        InputError: there is no sentence, or gensim is not there.
        IntegrityError: training went astray.
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


def kept(
    folder: Path, kind: str, told: Mapping[str, Any], make: Callable[[], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """The vectors that a model folder keeps of just these texts and settings, or those made now, which it keeps.

    Args:
        folder: a model folder.
        kind: of the artifact, and its name there.
        told: all that the vectors hang on, as JSON has it.
        make: makes them.
    """
    of = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
    place = folder / kind
    # Workers that share the folder wait for the first one's vectors.
    with locked(folder / f".{kind}.lock", wait=True):
        if holds(place, kind=kind, meta={"of": of}):
            try:
                open_verified(place, kind=kind)
                vectors: NDArray[np.float32] = load_file(place / "vectors.safetensors")["vectors"]
            except (CociteError, OSError, SafetensorError, KeyError):
                pass  # damaged: made anew
            else:
                return vectors
        vectors = make()
        with publish(place, kind=kind, meta={"of": of}, replace=True) as temporary:
            save_file({"vectors": vectors}, temporary / "vectors.safetensors")
    return vectors

"""Word vectors to begin with: from a file, or trained on the bodies of the training period's papers."""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import itertools
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from cocite.artifacts import publish, read_manifest
from cocite.config import Settings
from cocite.corpus.history import History
from cocite.errors import CociteError, InputError, IntegrityError
from cocite.models.pretrained import read_vectors
from cocite.text.paragraphs import CONTEXT, SPECIAL, ParagraphReader, body_sentences

KIND = "word-vectors"
"""Artifact of a model folder that keeps trained vectors: all workers, and a resumed training, begin with the same."""
LINES = 20_000
"""Sentences written at a time."""


class WordVectorSettings(Settings):
    """Where word vectors come from, and whether they stay."""

    source: Literal["corpus", "file", "random"] = "corpus"
    """``corpus``: word2vec over the body sentences of the training period's papers. ``file``: of ``path``.
    ``random``: drawn."""
    path: str | None = None
    """Text file in GloVe's or word2vec's format (``source: file``)."""
    trained: bool = True
    """Whether training moves them; in the paper they stay."""
    epochs: int = Field(3, ge=1)
    """Passes over the sentences (``source: corpus``)."""
    window: int = Field(8, ge=1)
    """Words either side that a word is predicted from (``source: corpus``)."""

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
    of = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
    place = folder / KIND
    with _alone(folder):
        kept = _kept(place, of)
        if kept is not None:
            return kept
        vectors = word2vec(settings, history, reader, dimension, seed=seed)
        with publish(place, kind=KIND, meta={"of": of}, replace=True) as temporary:
            save_file({"vectors": vectors}, temporary / "vectors.safetensors")
    return vectors


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one process at a time: workers that share the folder wait for the first one's vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{KIND}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _kept(place: Path, of: str) -> NDArray[np.float32] | None:
    try:
        if read_manifest(place, kind=KIND).meta.get("of") != of:
            return None
        vectors: NDArray[np.float32] = load_file(place / "vectors.safetensors")["vectors"]
    except (CociteError, OSError, SafetensorError, KeyError):
        return None
    return vectors


def word2vec(
    settings: WordVectorSettings, history: History, reader: ParagraphReader, dimension: int, *, seed: int = 0
) -> NDArray[np.float32]:
    """(V, d) continuous bag-of-words vectors (Mikolov et al. 2013) of a reader's words, zero for one not seen.

    With several threads the vectors are not the same from run to run.
    """
    import torch

    try:
        gensim: Any = importlib.import_module("gensim.models")
    except ImportError as error:
        raise InputError(
            "training word vectors on the corpus needs gensim",
            hint="pip install gensim, or set words.source to file or random",
        ) from error
    names = np.array([str(i) for i in range(reader.size)], object)
    with tempfile.NamedTemporaryFile("w", encoding="ascii", suffix=".txt") as file:
        lines = 0
        for chunk in body_sentences(history):
            for start in range(0, len(chunk), LINES):
                read = reader.read(chunk.slice(start, LINES), CONTEXT)
                words = names[read.tokens].tolist()
                bounds = read.indptr.tolist()
                file.writelines(
                    " ".join(words[a:b]) + "\n" for a, b in itertools.pairwise(bounds) if b - a > 1
                )
                lines += len(read)
        file.flush()
        if not lines:
            raise InputError(
                "no paper of the training period has body sentences",
                where=str(history.corpus.path),
                hint="set words.source to file or random",
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
    vectors = np.zeros((reader.size, dimension), np.float32)
    vectors[np.array(model.wv.index_to_key, np.int64)] = model.wv.vectors
    result = vectors[SPECIAL : SPECIAL + len(reader.vocabulary)]
    if not np.isfinite(result).all():
        raise IntegrityError("word2vec made vectors that are no numbers", where="words")
    return np.ascontiguousarray(result)

"""The files of BM25 indexes: one vocabulary for a group of indexes, and the arrays of each.

| entry | holds |
| --- | --- |
| ``vocabulary.txt`` | the words, one a line, in order of their columns |
| ``<name>/bm25.json`` | the settings and the sizes |
| ``<name>/counts.*.npy``, ``lengths.npy`` | the documents' word counts, sparse by document; the documents' lengths |
| ``<name>/lists.*.npy`` | the inverted lists, unless the index is only asked about chosen documents |
| ``<name>/idf.npy`` | the words' inverse document frequencies |
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cocite.artifacts import load_array
from cocite.atomic_files import write_atomic
from cocite.errors import IntegrityError, NotFoundError
from cocite.manifests import read_error, read_json
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.inverted_lists import InvertedLists
from cocite.text.tokens import WordTokenizer

VOCABULARY = "vocabulary.txt"


def save_group(
    indexes: Mapping[str, Bm25Index], folder: Path, *, without_lists: Collection[str] = ()
) -> None:
    """Write indexes that share a vocabulary into a new folder.

    Args:
        indexes: by name, which names the folder of each.
        folder: is made.
        without_lists: those whose inverted lists are left out; an opened index computes them when it is first searched.
    """
    folder.mkdir(parents=True)
    for name, index in indexes.items():
        save_index(index, folder / name, lists=name not in without_lists)
    save_vocabulary(next(iter(indexes.values())).vocabulary, folder)


def load_group(folder: Path, names: Collection[str]) -> dict[str, Bm25Index]:
    """Open some of the indexes that :func:`save_group` wrote; the arrays are memory-mapped.

    Raises:
        NotFoundError: there is no such folder.
        IntegrityError: an index is not readable.
    """
    if not folder.is_dir():
        raise NotFoundError("no such folder", where=str(folder))
    vocabulary = load_vocabulary(folder)
    return {name: load_index(folder / name, vocabulary) for name in names}


def save_vocabulary(vocabulary: dict[str, int], folder: Path) -> None:
    """Write the words, one a line."""
    (folder / VOCABULARY).write_text("\n".join(vocabulary), encoding="utf-8", newline="\n")


def load_vocabulary(folder: Path) -> dict[str, int]:
    """Read what :func:`save_vocabulary` wrote.

    Raises:
        IntegrityError: there is no such file, or it is not text.
    """
    path = folder / VOCABULARY
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise read_error(error, path, "not a readable vocabulary", "build the index again") from error
    return {word: i for i, word in enumerate(text.split("\n") if text else [])}


def save_index(index: Bm25Index, folder: Path, *, lists: bool = True) -> None:
    """Write an index without its vocabulary into a new folder."""
    save_counts(index.counts, folder)
    save_weights(index, folder, lists=lists)


def save_counts(counts: sp.csr_matrix, folder: Path) -> None:
    """Write the documents' word counts alone into a new folder: what their weights need may not be known yet."""
    folder.mkdir(parents=True)
    matrices.save(folder, "counts", matrices.narrowed(counts))


def load_counts(folder: Path, shape: tuple[int, int]) -> sp.csr_matrix:
    """Memory-map what :func:`save_counts` wrote."""
    return matrices.load(folder, "counts", shape)


def save_weights(index: Bm25Index, folder: Path, *, lists: bool = True) -> None:
    """Write the rest of an index into the folder of its word counts."""
    if lists:
        index.lists.save(folder)
    np.save(folder / "idf.npy", index.idf)
    np.save(folder / "lengths.npy", index.lengths.astype(np.int32))
    settings = {
        "k1": index.k1,
        "b": index.b,
        "mean_length": index.mean_length,
        "stopwords": index.tokenizer.stopwords,
        "stemmer": index.tokenizer.stemmer,
        "documents": len(index),
        "words": int(index.counts.shape[1]),
        "lists": lists,
    }
    write_atomic(folder / "bm25.json", json.dumps(settings, indent=1) + "\n")


def load_index(folder: Path, vocabulary: dict[str, int] | None = None) -> Bm25Index:
    """Open an index that :func:`save_index` wrote, with the vocabulary of its group.

    Without the vocabulary it can be asked by the words' numbers alone.

    Raises:
        IntegrityError: the index is not readable, or the vocabulary is another.
    """
    settings = read_json(folder / "bm25.json")
    try:
        if vocabulary is not None and len(vocabulary) != settings["words"]:
            raise ValueError(f"{len(vocabulary)} words where {settings['words']} were written")
        shape = (settings["documents"], settings["words"])
        return Bm25Index(
            WordTokenizer(settings["stopwords"], settings["stemmer"]),
            vocabulary or {},
            load_counts(folder, shape),
            load_array(folder / "idf.npy"),
            settings["mean_length"],
            k1=settings["k1"],
            b=settings["b"],
            lists=InvertedLists.load(folder, shape) if settings["lists"] else None,
            lengths=load_array(folder / "lengths.npy"),
        )
    except (OSError, KeyError, ValueError, TypeError, IntegrityError) as error:
        raise read_error(error, folder, "not a readable BM25 index", "build the index again") from error

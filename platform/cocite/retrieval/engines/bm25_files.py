"""The files of BM25 indexes: one vocabulary for a group of indexes, and the arrays of each.

| entry | holds |
| --- | --- |
| ``vocabulary.txt`` | the words, one a line, in order of their columns |
| ``<name>/bm25.json`` | the settings, the sizes, and which index' folder has the word counts |
| ``<name>/counts.*.npy`` | the word counts and lengths of the documents in one field or in two |
| ``<name>/lists.*.npy`` | the inverted lists, unless the index is only asked about chosen documents |
| ``<name>/idf.npy`` | the words' inverse document frequencies |
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from cocite.artifacts import load_array
from cocite.atomic_files import write_atomic
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import read_error, read_json
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.inverted_lists import InvertedLists
from cocite.retrieval.engines.packed_counts import PackedCounts, save_counts
from cocite.text.tokens import WordTokenizer

VOCABULARY = "vocabulary.txt"
NOTHING: Mapping[str, str] = {}


def save_group(
    indexes: Mapping[str, Bm25Index],
    folder: Path,
    *,
    inside: Mapping[str, str] = NOTHING,
    without_lists: Collection[str] = (),
) -> None:
    """Write indexes that share a vocabulary into a new folder.

    Args:
        indexes: by name, which names the folder of each.
        folder: is made.
        inside: the names of those whose words all stand in another's documents, and the other's.
        without_lists: those whose inverted lists are left out; an opened index computes them when it is first searched.
    """
    folder.mkdir(parents=True)
    save_indexes(indexes, folder, inside=inside, without_lists=without_lists)
    save_vocabulary(next(iter(indexes.values())).vocabulary, folder)


def load_group(folder: Path, names: Collection[str]) -> dict[str, Bm25Index]:
    """Open some of the indexes that :func:`save_group` wrote; the arrays are memory-mapped.

    Raises:
        NotFoundError: there is no such folder.
        IntegrityError: an index is not readable.
    """
    if not folder.is_dir():
        raise NotFoundError("no such folder", where=str(folder))
    return load_indexes(folder, names, load_vocabulary(folder))


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


def save_indexes(
    indexes: Mapping[str, Bm25Index],
    folder: Path,
    *,
    inside: Mapping[str, str] = NOTHING,
    without_lists: Collection[str] = (),
) -> None:
    """Write indexes without their vocabulary into new folders; see :func:`save_group`.

    Inverted lists that were not made before are made one after the other, and are not kept.
    """
    outer = {name: inside[name] for name in indexes if inside.get(name) in indexes}
    inner = {of: name for name, of in outer.items()}
    for name, index in indexes.items():
        (folder / name).mkdir(parents=True)
        if name not in outer:
            within = indexes[inner[name]].counts if name in inner else None
            save_counts(folder / name, index.counts, within)
        save_weights(index, folder / name, counts_in=outer.get(name), lists=name not in without_lists)


def save_weights(index: Bm25Index, folder: Path, *, counts_in: str | None = None, lists: bool = True) -> None:
    """Write an index but for its word counts into its folder.

    Args:
        index: to write.
        folder: is there.
        counts_in: the name of the index whose documents' inner field the counts are; None: they are its own.
        lists: whether the inverted lists are written.
    """
    if lists:
        index.make_lists().save(folder)
    np.save(folder / "idf.npy", index.idf)
    settings = {
        "k1": index.k1,
        "b": index.b,
        "mean_length": index.mean_length,
        "stopwords": index.tokenizer.stopwords,
        "stemmer": index.tokenizer.stemmer,
        "documents": len(index),
        "words": index.counts.shape[1],
        "lists": lists,
        "counts_in": counts_in,
    }
    write_atomic(folder / "bm25.json", json.dumps(settings, indent=1) + "\n")


def load_indexes(
    folder: Path, names: Collection[str], vocabulary: dict[str, int] | None = None
) -> dict[str, Bm25Index]:
    """Open indexes that :func:`save_indexes` wrote, with the vocabulary of their group.

    Without the vocabulary they can be asked by the words' numbers alone.

    Raises:
        InputError: an earlier cocite wrote one in a form that this one cannot read.
        IntegrityError: one is not readable, or the vocabulary is another.
    """
    counts: dict[str, PackedCounts] = {}
    return {name: _load_index(folder / name, vocabulary, counts) for name in names}


def _load_index(
    folder: Path, vocabulary: dict[str, int] | None, counts: dict[str, PackedCounts]
) -> Bm25Index:
    """Open one; ``counts`` has the word counts that are open, by the name of the folder they lie in."""
    settings = read_json(folder / "bm25.json")
    if isinstance(settings, dict) and "counts_in" not in settings:
        raise InputError(
            "the word counts have another layout: an earlier version of cocite made the index",
            where=str(folder),
            hint="build it again with cocite index build",
        )
    try:
        if vocabulary is not None and len(vocabulary) != settings["words"]:
            raise ValueError(f"{len(vocabulary)} words where {settings['words']} were written")
        shape = (settings["documents"], settings["words"])
        within = settings["counts_in"]
        held_in = within or folder.name
        if Path(held_in).name != held_in:
            raise ValueError(f"{held_in!r} is not the name of an index")
        if held_in not in counts:
            counts[held_in] = PackedCounts.load(folder.parent / held_in, shape)
        packed = counts[held_in]
        return Bm25Index(
            WordTokenizer(settings["stopwords"], settings["stemmer"]),
            vocabulary or {},
            packed.outer if within is None else packed.inner,
            load_array(folder / "idf.npy"),
            settings["mean_length"],
            k1=settings["k1"],
            b=settings["b"],
            lists=InvertedLists.load(folder, shape) if settings["lists"] else None,
        )
    except (OSError, KeyError, ValueError, TypeError, IntegrityError) as error:
        raise read_error(error, folder, "not a readable BM25 index", "build the index again") from error

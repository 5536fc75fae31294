"""An index under a shorter history, in files: made once, and mapped by every process that searches it.

Only what depends on the history is written: whose links are known, the contexts, and what they say of the papers. All
else is the index' own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cocite.artifacts import load_array, publish
from cocite.corpus.history import History
from cocite.errors import InputError
from cocite.manifests import read_manifest
from cocite.retrieval.engines.anchor_texts import AnchorTexts
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_files import load_indexes, save_indexes
from cocite.retrieval.index.documents import INSIDE
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.known_contexts import FOLDER, KnownContexts
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.shards.group import LocalShards

KIND = "index-history"
FIELDS = ("contexts", "windows", "whole", "near")
"""The BM25 indexes that depend on the history."""


def save_history(index: Index | ShardedIndex, folder: Path) -> None:
    """Write what an index knows, in place of what the folder holds.

    Args:
        index: under the history, as :meth:`~cocite.retrieval.index.search_index.SearchIndex.with_history` made it.
        folder: becomes an artifact.

    Raises:
        WriteError: there is no space, or the folder cannot be written to.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> index = Index.build(corpus, History.all(corpus))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_history(index.rewind(2005), Path(folder, "2005"))
        ...     open_history(index, Path(folder, "2005")).history.year
        2005
    """
    with publish(folder, kind=KIND, meta=_meta(index), replace=folder.exists()) as to:
        np.save(to / "citing.npy", index.history.citing, allow_pickle=False)
        KnownContexts(index.context_papers, index.cited_by_context).save(to / FOLDER)
        for number, indexes in enumerate(_of_shards(index)):
            # Lists of what is said of papers are made by whoever searches them, as of an index version.
            save_indexes(indexes, to / f"{number:04d}", inside=INSIDE, without_lists=("whole", "near"))


def open_history(index: Index | ShardedIndex, folder: Path) -> Index | ShardedIndex:
    """An index of the same kind under a history that :func:`save_history` wrote; its arrays are memory-mapped.

    Args:
        index: that the history was made of, under its own.
        folder: of the history.

    Raises:
        InputError: it was made of another index.
        IntegrityError: a file is missing or not readable.
    """
    manifest = read_manifest(folder, kind=KIND)
    if dict(manifest.meta) != _meta(index):
        raise InputError("is a history of another index", where=str(folder), hint="remove it")
    history = History(index.corpus, np.asarray(load_array(folder / "citing.npy")))
    known = KnownContexts.open(folder / FOLDER)
    # Shards know words by their numbers alone.
    words = index.contexts.vocabulary if isinstance(index, Index) else None
    parts = [
        load_indexes(folder / f"{number:04d}", FIELDS, words) for number in range(len(_of_shards(index)))
    ]
    anchors = [AnchorTexts(part["windows"], part["whole"], part["near"]) for part in parts]
    if isinstance(index, Index):
        return replace(index, history=history, known=known, contexts=parts[0]["contexts"], anchors=anchors[0])
    first = np.cumsum([0, *(len(part["contexts"]) for part in parts)]).tolist()
    shards = [
        replace(shard, first_context=first[number], contexts=part["contexts"], anchors=anchors[number])
        for number, (shard, part) in enumerate(zip(index.local_shards, parts, strict=True))
    ]
    return replace(index, history=history, known=known, shards=LocalShards(shards))


def _of_shards(index: Index | ShardedIndex) -> Sequence[Mapping[str, Bm25Index]]:
    """The BM25 indexes that depend on the history, of each shard; of an index that is searched whole, its own."""
    shards = [index] if isinstance(index, Index) else index.local_shards
    return [{"contexts": shard.contexts, **vars(shard.anchors)} for shard in shards]


def _meta(index: Index | ShardedIndex) -> dict[str, str]:
    return {"corpus": index.corpus.version, "version": index.version}

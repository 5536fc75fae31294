"""Opening an index folder, whether its current version is searched whole or in shards."""

from __future__ import annotations

from pathlib import Path

from cocite.manifests import read_manifest
from cocite.mapped_memory import read_at_random
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.version_writer import KIND
from cocite.retrieval.index.versions import VersionedFolder

SavedIndex = IndexSnapshot | ShardedIndex
"""An index that was opened from its folder."""


def open_index(
    root: str | Path, version: str | None = None, *, threads: int = 1, verified: bool = False
) -> SavedIndex:
    """Open a version of an index to search it; the first time on a machine, every file is compared with its SHA-256.

    Args:
        root: the index folder.
        version: its name; the current one by default.
        threads: how many threads FAISS may use.
        verified: whether the caller has compared the files with their SHA-256.

    Raises:
        NotFoundError: there is no such version, or no index.
        IntegrityError: a file is damaged, or a shard is missing or of another version.
        InputError: an earlier cocite wrote the index in a form that this one cannot read.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = ShardedIndex.create(starter_corpus(), root, shards=2)
        ...     index = open_index(root)
        ...     type(index).__name__, len(index.shards)
        ('ShardedIndex', 2)
    """
    # Locked while the manifest is read: a writer could delete the version in between.
    name, lock = VersionedFolder(root).lock(version)
    try:
        sharded = "shards" in read_manifest(VersionedFolder(root).folder(name), kind=KIND).meta
        kind: type[SavedIndex] = ShardedIndex if sharded else IndexSnapshot
        index = kind.open(root, name, threads=threads, verified=verified)
        read_at_random(index.path)
        return index
    finally:
        lock.release()

"""Changes of an index folder, whether it is searched whole or in shards: more papers, fewer, or other vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from cocite.corpus.records import Record
from cocite.errors import InputError
from cocite.protocols import Encoder
from cocite.retrieval.index.documents import Advance, ignore_progress
from cocite.retrieval.index.opening import SavedIndex
from cocite.retrieval.index.sharded_versions import add_to_shards, remove_from_shards
from cocite.retrieval.index.snapshot import IndexSnapshot, current_meta
from cocite.retrieval.index.versions import KEEP


def add_papers(
    root: str | Path,
    records: Iterable[Record],
    *,
    encoders: Sequence[Encoder] = (),
    rejects: str | Path | None = None,
    keep: int = KEEP,
    advance: Advance = ignore_progress,
) -> SavedIndex:
    """A new version with more papers, of the same kind as the current one.

    Args:
        root, records, encoders, rejects, keep, advance: as in
            :meth:`~cocite.retrieval.index.snapshot.IndexSnapshot.add`.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.records import PaperRecord
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.sharded_index import ShardedIndex
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = ShardedIndex.create(starter_corpus(), root, shards=2)
        ...     grown = add_papers(root, [PaperRecord("new", "A new paper", year=2024)])
        ...     len(grown), [shard["papers"] for shard in grown.manifest.meta["shards"]]
        (424, [211, 212, 1])
    """
    add = add_to_shards if _is_sharded(root) else IndexSnapshot.add
    new: SavedIndex = add(root, records, encoders=encoders, rejects=rejects, keep=keep, advance=advance)
    return new


def remove_papers(root: str | Path, ids: Sequence[str], *, keep: int = KEEP) -> SavedIndex:
    """A new version in which some papers are never found, do not vote and are no evidence.

    Args:
        root, ids, keep: as in :meth:`~cocite.retrieval.index.snapshot.IndexSnapshot.remove`.
    """
    remove = remove_from_shards if _is_sharded(root) else IndexSnapshot.remove
    new: SavedIndex = remove(root, ids, keep=keep)
    return new


def reembed_papers(
    root: str | Path, encoders: Sequence[Encoder], *, keep: int = KEEP, advance: Advance = ignore_progress
) -> IndexSnapshot | None:
    """A new version with the vectors of some encoders, and of no others.

    Args:
        root, encoders, keep, advance: as in :meth:`~cocite.retrieval.index.snapshot.IndexSnapshot.reembed`.

    Returns:
        The new version; None where the current one has the vectors of these very encoders, so that none was made.

    Raises:
        InputError: the index is divided into shards.
    """
    meta = current_meta(root)
    if shards := meta.get("shards"):
        raise InputError(
            f"the index is divided into {len(shards)} shards, whose vectors are not made here",
            where=str(root),
            hint="make them with `cocite embed`, and build the index again with --vectors-from",
        )
    if meta.get("encoder_ids", {}) == {encoder.name: encoder.id for encoder in encoders}:
        return None
    return IndexSnapshot.reembed(root, encoders, keep=keep, advance=advance)


def _is_sharded(root: str | Path) -> bool:
    return bool(current_meta(root).get("shards"))

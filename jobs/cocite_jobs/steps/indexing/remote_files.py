"""What the parts of an index build write and read, where machines share an object store and no folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cocite.part_files import LocalFiles, PartFiles
from cocite.retrieval.index.shard_words import FINAL
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.part_files import RemoteFiles


@dataclass(frozen=True)
class RemoteShardFiles(RemoteFiles):
    """Parts in an object store, of which what is final is uploaded to its place in the version: a store has no links.

    Attributes:
        version: the folder of the version in the making.

    Example:
        >>> parts, version = Location.of("memory://parts"), Location.of("memory://index/000001")
        >>> files = RemoteShardFiles(parts, Path("scratch"), version)
        >>> files.place("names").uri, files.place("final/shard-0003").uri
        ('memory://parts/names', 'memory://index/000001')
    """

    version: Location

    def place(self, name: str) -> Location:
        """Where a folder is uploaded to."""
        return self.version if name.startswith(f"{FINAL}/") else super().place(name)


@contextmanager
def shard_files(location: Location, version: Location) -> Iterator[PartFiles]:
    """Where one part reads and writes, while the block runs.

    Args:
        location: of the parts.
        version: the folder of the version in the making, where that is not on this machine.
    """
    if location.local is not None:
        yield LocalFiles(location.local, durable=True)
        return
    with tempfile.TemporaryDirectory(prefix="cocite-index-") as scratch:
        yield RemoteShardFiles(location, Path(scratch), version)

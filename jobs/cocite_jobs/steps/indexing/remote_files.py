"""What the parts of an index build write and read, where machines share an object store and no folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cocite.retrieval.index.part_files import LocalFiles, PartFiles
from cocite.retrieval.index.shard_words import FINAL
from cocite_jobs.storage.location import Location


@dataclass(frozen=True)
class RemoteFiles:
    """Parts in an object store; a :class:`~cocite.retrieval.index.part_files.PartFiles`.

    What is final is uploaded to its place in the version at once: a store has no links.

    Attributes:
        location: of the parts.
        version: the folder of the version in the making.
        scratch: a folder of this machine, for what one part reads and writes.

    Example:
        >>> files = RemoteFiles(Location.of("memory://parts"), Location.of("memory://index/000001"), Path("scratch"))
        >>> files.location.uri
        'memory://parts'
    """

    location: Location
    version: Location
    scratch: Path

    def read(self, name: str) -> Path:
        """A copy of a folder that was written."""
        folder = self.scratch / "read" / name
        if not folder.is_dir():
            (self.location / name).download(folder)
        return folder

    @contextmanager
    def write(self, name: str) -> Iterator[Path]:
        """A folder to fill, which is uploaded when the block ends."""
        folder = self.scratch / "written" / name
        folder.mkdir(parents=True)
        yield folder
        to = self.version if name.startswith(f"{FINAL}/") else self.location / name
        to.upload(
            folder, [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
        )

    def remove(self, name: str) -> None:
        """Remove all folders whose names begin so."""
        (self.location / name).clear()


@contextmanager
def part_files(location: Location, version: Location) -> Iterator[PartFiles]:
    """Where one part reads and writes, while the block runs.

    Args:
        location: of the parts.
        version: the folder of the version in the making, where that is not on this machine.
    """
    if location.local is not None:
        yield LocalFiles(location.local, durable=True)
        return
    with tempfile.TemporaryDirectory(prefix="cocite-index-") as scratch:
        yield RemoteFiles(location, version, Path(scratch))
